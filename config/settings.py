"""All settings, from the environment through typed readers. In production nothing secret has a default."""

from pathlib import Path

from celery.schedules import schedule
from csp.constants import NONE, SELF

from config import avatars, env, logs, production
from config.embedded.home import Home

BASE_DIR = Path(__file__).resolve().parent.parent
RUNG_ENV = env.one_of("RUNG_ENV", "development", ("development", "production"))
PRODUCTION = RUNG_ENV == "production"
DEBUG = env.flag("DEBUG", default=False)
HOME = Home.from_environment()

if PRODUCTION and DEBUG:
    raise env.ConfigurationError("DEBUG must be off in production: it shows source and settings to everyone.")

# --- secrets and hosts ---------------------------------------------------------------------------------------------
SECRET_KEY = env.text("SECRET_KEY")
if not SECRET_KEY and not PRODUCTION:
    SECRET_KEY = HOME.secret("secret_key") or ""
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "" if PRODUCTION else "127.0.0.1,localhost,[::1]")
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS")
METRICS_TOKEN = env.text("RUNG_METRICS_TOKEN")  # with which /metrics is read from elsewhere, in production
HTTPS = env.flag("RUNG_HTTPS", default=PRODUCTION)
ORIGINS = env.words("RUNG_ORIGINS")  # whose pages may open sockets, beside our own
if PRODUCTION:
    env.missing_in_production({"SECRET_KEY": SECRET_KEY, "ALLOWED_HOSTS": ",".join(ALLOWED_HOSTS)})
    production.check_secret("SECRET_KEY", SECRET_KEY)
    if METRICS_TOKEN:
        production.check_secret("RUNG_METRICS_TOKEN", METRICS_TOKEN)
    production.check_hosts(ALLOWED_HOSTS)
    production.check_origins("CSRF_TRUSTED_ORIGINS", CSRF_TRUSTED_ORIGINS, https=HTTPS)
    production.check_origins("RUNG_ORIGINS", ORIGINS, https=False)
if not SECRET_KEY:
    raise env.ConfigurationError("There is no SECRET_KEY yet: run `make up` once, or set SECRET_KEY.")

# --- servers: named in the environment, or found where `make up` has started them ----------------------------------
_database_url = env.text("DATABASE_URL") or HOME.server_url("database_url")
if not _database_url:
    raise env.ConfigurationError("There is no database: start `make up`, or set DATABASE_URL.")
DATABASE_POOLER = env.flag("RUNG_DATABASE_POOLER", default=False)  # one that lends its connections by transaction
DATABASES = {"default": env.database(_database_url)}
DATABASE_REPLICA_URL = env.text("DATABASE_REPLICA_URL")  # for what may be a second behind: config/replica.py
if DATABASE_REPLICA_URL:
    DATABASES["replica"] = env.database(DATABASE_REPLICA_URL, name="DATABASE_REPLICA_URL")
for _database in DATABASES.values():
    # one for each thread that asks, and nothing on it that another transaction needs: docs/adr/0020
    _database |= {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True, "DISABLE_SERVER_SIDE_CURSORS": DATABASE_POOLER}
    _database["OPTIONS"] = {"connect_timeout": "3", **_database["OPTIONS"], "prepare_threshold": None}  # type: ignore[dict-item]
PORT = env.number("PORT", 8000, least=1, most=65535)
BIND = env.text("RUNG_BIND", "127.0.0.1") or "127.0.0.1"
WEB_PROCESSES = env.web_processes()
# what addresses of pages may ask: any other parameter is ignored, and makes no other page (config/shared_pages.py)
PAGE_PARAMETERS = frozenset({"scope", "page", "rank", "q", "limit", "theme"})
WEB_THREADS = env.number("RUNG_WEB_THREADS", 10, least=6, most=256)  # for each web process: config/queues.py
WEB_CONNECTIONS = env.number("RUNG_WEB_CONNECTIONS", 16_384, least=16, most=1_000_000)  # to each web process, at once
# of these from one address, callers with an API key not counted; where proxies of ours stand in front, they count
CONNECTIONS_AN_ADDRESS = env.number("RUNG_CONNECTIONS_PER_ADDRESS", 512, least=1, most=1_000_000)
FAST_LANE = env.flag("RUNG_FAST_LANE", default=True)  # off: Django answers the hot routes too, the same and slower
# calls that may wait for their turn, in each of its lanes and of each web process; who comes then is told 503 at once
LANE_THREADS = 10 if FAST_LANE else 0  # two for each of its five kinds of call; each holds a connection, too
WATCH_BOARDS = env.flag("RUNG_WATCH_BOARDS", default=True)  # what others do to them is heard of (docs/adr/0014)
LIVE_THREADS = 2  # of each web process, for sockets that subscribe; each holds a connection, too
FAST_LANE_WAITING = env.number("RUNG_FAST_LANE_WAITING", 4096, least=2, most=100_000)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

_valkey_url = env.text("VALKEY_URL") or HOME.server_url("valkey_url")
if not _valkey_url:
    raise env.ConfigurationError("There is no Valkey: start `make up`, or set VALKEY_URL.")
VALKEY_URL = env.boards(_valkey_url, name="VALKEY_URL")  # one server, or a cluster
BROKER_URL = env.beside_boards("BROKER_URL", VALKEY_URL, 1)
CHANNELS_URL = env.beside_boards("CHANNELS_URL", VALKEY_URL, 2)
CACHE_URL = env.beside_boards("CACHE_URL", VALKEY_URL, 3)
READ_REPLICAS = env.flag("RUNG_READ_REPLICAS", default=False)  # of a cluster; who waits for a score never does

CACHES = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": CACHE_URL,
        "KEY_PREFIX": "rung",
        "OPTIONS": {"SOCKET_CONNECT_TIMEOUT": 0.5, "SOCKET_TIMEOUT": 0.5},
    }
}
# the same server, by a name that does not hide that it is down: a session that cannot be read is not gone
CACHES["sessions"] = CACHES["default"] | {
    "OPTIONS": {"SOCKET_CONNECT_TIMEOUT": 0.5, "SOCKET_TIMEOUT": 0.5, "IGNORE_EXCEPTIONS": False}
}
DJANGO_REDIS_IGNORE_EXCEPTIONS = True  # a cache that is down is an empty cache
DJANGO_REDIS_LOG_IGNORED_EXCEPTIONS = True
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        # without a timeout of None an idle consumer dies after redis-py's five seconds (channels_redis#422)
        "CONFIG": {
            "hosts": [{"address": CHANNELS_URL, "socket_timeout": None, "socket_keepalive": True}],
            "prefix": "rung",
            "capacity": 500,  # of a web process that does not read for a while: states, so what is lost is replaced
            "group_expiry": 60,  # seconds; who lives says so every five, and who died is sent nothing more
        },
    }
}

# --- Celery: doorbells only; nothing is carried in a task that is not in PostgreSQL --------------------------------
CELERY_BROKER_URL = BROKER_URL
CELERY_TASK_DEFAULT_QUEUE = "rung"
# a worker takes from all queues, unless it is told from which: verifying may have one of its own (-Q replays)
CELERY_TASK_QUEUES = {"rung": {"routing_key": "rung"}, "replays": {"routing_key": "replays"}}
CELERY_TASK_ROUTES = {"anticheat.tasks.replays": {"queue": "replays"}}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_PUBLISH_RETRY = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 2,
    "socket_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 30,
}
CELERY_TIMEZONE = "UTC"
CELERY_ENABLE_UTC = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULER = "config.beat:Scheduler"
CELERY_BEAT_MAX_LOOP_INTERVAL = 5
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "leaderboards.tasks.sweep", "schedule": schedule(run_every=2), "options": {"expires": 10}},
    "bans": {"task": "leaderboards.tasks.bans", "schedule": schedule(run_every=3), "options": {"expires": 10}},
    "reconcile": {
        "task": "leaderboards.tasks.reconcile",
        "schedule": schedule(run_every=10),
        "options": {"expires": 10},
    },
    "histograms": {
        "task": "leaderboards.tasks.histograms",
        "schedule": schedule(run_every=2),
        "options": {"expires": 10},
    },
    "announcements": {
        "task": "leaderboards.tasks.announce_sweep",
        "schedule": schedule(run_every=5),
        "options": {"expires": 10},
    },
    "rollbacks": {"task": "anticheat.tasks.rollbacks", "schedule": schedule(run_every=5), "options": {"expires": 10}},
    "stamps": {"task": "leaderboards.tasks.tidy_stamps", "schedule": schedule(run_every=3600)},
    "standings": {"task": "leaderboards.tasks.tidy_standings", "schedule": schedule(run_every=24 * 3600)},
    "erased attempts": {
        "task": "leaderboards.tasks.tidy_erased",
        "schedule": schedule(run_every=60),
        "options": {"expires": 60},
    },
    "partitions": {"task": "leaderboards.tasks.partitions_ahead", "schedule": schedule(run_every=3600)},
    "erased ids": {"task": "players.tasks.erased_ids_sweep", "schedule": schedule(run_every=3600)},
    "replays": {"task": "anticheat.tasks.replays", "schedule": schedule(run_every=5), "options": {"expires": 10}},
    "old replays": {"task": "anticheat.tasks.tidy_replays", "schedule": schedule(run_every=600)},
    "heartbeat": {"task": "config.tasks.heartbeat", "schedule": schedule(run_every=5), "options": {"expires": 30}},
}
DJANGO_CELERY_BEAT_TZ_AWARE = True

# --- the house -----------------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "config.apps.RungAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_celery_beat",
    "channels",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "config.apps.ConfigApp",
    "players.apps.PlayersApp",
    "leaderboards.apps.LeaderboardsApp",
    "anticheat.apps.AnticheatApp",
]
MIDDLEWARE = [
    "config.middleware.HealthMiddleware",  # first: probes know no host name and no HTTPS
    "config.middleware.ProblemMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "config.middleware.LanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "config.avatars.for_pages",
                "config.shared_pages.here",
            ]
        },
    }
]
PASSWORD_HASHERS = ["config.hashing.BoundedHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]  # of the pages for people; the API and the admin speak English
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_SAMESITE, LANGUAGE_COOKIE_HTTPONLY, LANGUAGE_COOKIE_AGE = "Lax", True, 365 * 24 * 3600
USE_I18N = True
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = HOME.path / "static" if PRODUCTION else None  # else files are served from where they lie
WHITENOISE_USE_FINDERS = not PRODUCTION
_PRIVATE = {"file_permissions_mode": 0o600, "directory_permissions_mode": 0o700}  # nobody else on the machine reads it
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "models": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": HOME.path / "models"} | _PRIVATE,
    },
    "replays": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": env.text("RUNG_REPLAYS") or HOME.path / "replays"} | _PRIVATE,
    },
    "staticfiles": {
        "BACKEND": "config.statics.Statics" if PRODUCTION else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

# --- the API -------------------------------------------------------------------------------------------------------
MAX_BODY_BYTES = 8 * 1024 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
REST_FRAMEWORK: dict[str, object] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],  # our views name theirs: players/views.py
    "DEFAULT_PERMISSION_CLASSES": [],  # who may do what is decided in players/access.py, nowhere else
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "config.problem.drf_handler",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Rung",
    "DESCRIPTION": "Leaderboards for games: scores in, exact ranks out.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "SCHEMA_PATH_PREFIX": "/v1",
    "POSTPROCESSING_HOOKS": ["config.openapi.add_wire_types"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "APPEND_COMPONENTS": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
    "SECURITY": [{"bearer": []}, {}],
    "AUTHENTICATION_WHITELIST": [],  # said by SECURITY, for all of them
}
DEMO = env.flag("RUNG_DEMO", default=True) and not PRODUCTION
SHARDS = env.number("RUNG_SHARDS", 1, least=1, most=256)  # of new modes; stored with each
HOT_DAYS = {"daily": 7, "weekly": 28, "monthly": 62}  # how long a board lives on after its window
IDEMPOTENCY_HOURS = 48  # the least that a repeated attempt is known again; published in /v1/games/{game}
# dotted paths of classes that judge scores at the door (leaderboards/admission.py, docs/extending.md)
SCORE_CHECKS = env.words(
    "RUNG_SCORE_CHECKS",
    "anticheat.checks.token.AttemptToken,anticheat.checks.pace.Pace,anticheat.checks.timing.Timing,"
    "anticheat.checks.replay.ReplayAlways",
)
# reads of a game that says nothing else (`limits`), of each player and address; 0: no limit
PLAYER_READS_PER_SECOND = 50 if PRODUCTION else 0
ADDRESS_READS_PER_SECOND = 4 * PLAYER_READS_PER_SECOND
KEY_SUBMITS_PER_SECOND = env.number("RUNG_KEY_RATE", 0, least=0, most=1_000_000)  # of each API key; 0: no limit
KEY_SUBMITS_AT_ONCE = env.number("RUNG_KEY_BURST", 100, least=1, most=1_000_000)
# dotted paths of classes that judge with history, when a batch is stamped (leaderboards/improvements.py)
STAMP_CHECKS = env.words(
    "RUNG_STAMP_CHECKS",
    "anticheat.checks.jump.Jump,anticheat.checks.outlier.Outlier,anticheat.checks.cohort.BeyondCohort,anticheat.checks.top.Top,"
    "anticheat.checks.replay.ReplayOfTop",
)
# dotted paths of classes that judge the log itself, attempt by attempt (`rejudge`; anticheat/checks/habits.py)
LOG_CHECKS = env.words(
    "RUNG_LOG_CHECKS",
    "anticheat.checks.tempo.LogTiming,anticheat.checks.tempo.Tempo,"
    "anticheat.checks.clockwork.Regularity,anticheat.checks.clockwork.Sleepless,"
    "anticheat.checks.devices.Apart,anticheat.checks.devices.Devices,anticheat.checks.devices.Handover",
)
REPLAY_VERIFIERS = env.named("RUNG_REPLAY_VERIFIERS", "dodge=anticheat.demo.dodge.verify")  # what a mode may name
REPLAY_BYTES = env.number("RUNG_REPLAY_BYTES", 1024 * 1024, least=1, most=8 * 1024 * 1024)
REPLAY_TYPES = env.words("RUNG_REPLAY_TYPES", "application/octet-stream,application/json")
REPLAY_DAYS = env.number("RUNG_REPLAY_DAYS", 90, least=1, most=36_500)  # kept, and while a case is open
REPLAY_ADDRESS_SECONDS = 600  # that a signed address is good for
REPLAYS_AT_ONCE = env.number("RUNG_REPLAYS_AT_ONCE", 1, least=1, most=64)  # verified, by all workers together
REPLAY_BOUNDS = {  # of a verifier: anticheat/sandbox.py
    "seconds": env.number("RUNG_REPLAY_SECONDS", 10, least=1, most=600),
    "cpu_seconds": env.number("RUNG_REPLAY_CPU_SECONDS", 5, least=1, most=600),
    "mebibytes": env.number("RUNG_REPLAY_MEBIBYTES", 512, least=64, most=65_536),
}
# dotted paths of functions that the drainer hands (mode, changes) once the boards show them (leaderboards/send.py)
AFTER_SEND = ["leaderboards.live.touched.boards_touched", "leaderboards.noticing.activity_note"]
# sockets, for each web process
SOCKETS_AN_ADDRESS = env.number("RUNG_SOCKETS_PER_ADDRESS", 50, least=1, most=1_000_000)
SOCKETS_A_PLAYER = env.number("RUNG_SOCKETS_PER_PLAYER", 20, least=1, most=1_000_000)
LARGEST_MESSAGE = 16 * 1024  # bytes
SLOW_SOCKET_SECONDS = env.number("RUNG_SLOW_SOCKET_SECONDS", 10, least=1, most=600)  # that one message may take to go
FINDINGS_RECORDER = "anticheat.services.findings.findings_record"  # who is told what checks found
TUNING_EXAMINER = "anticheat.tuning.examine"  # who knows how checks may be tuned for a mode
AUDIT_RECORDER = "anticheat.audit.record"  # who keeps what operators, keys and commands do (config/audit.py)
# dotted paths of functions that `doctor` asks too: a sentence, or an exception that says what is wrong
DOCTOR_CHECKS = {
    "clocks": "config.clock.clocks_check",
    "boards behind": "leaderboards.lag.boards_check",
    "foreign hands": "config.key_events.heard_check",
} | ({"replica": "config.replica.replica_check"} if DATABASE_REPLICA_URL else {})
# kinds of rulings that a second person has to approve before anything happens: ban, rollback, …
TWO_PERSONS = env.words("RUNG_TWO_PERSONS")
BANS_BY_HAND = "anticheat.queue.bans_by_hand"  # who says whether an operator may ban a player without a ruling
# what operators choose from when they rule; players are told it. Sentences, with | between them
RULING_REASONS = env.sentences(
    "RUNG_RULING_REASONS",
    "This score cannot be reached in a fair game."
    "|A modified game or outside help was used."
    "|A fault of the game was exploited."
    "|Scores were sent by somebody else than the player."
    "|Looked at, and found fair.",
)
AVATAR_HOSTS = env.hosts("RUNG_AVATAR_HOSTS")  # whose pictures our pages show: config/avatars.py
NAME_CHECKS = env.words("RUNG_NAME_CHECKS")  # dotted paths of (name, game) -> reason or None; docs/extending.md

# --- safety --------------------------------------------------------------------------------------------------------
PROXIES = env.number("RUNG_PROXIES", 0, least=0, most=10)  # how many of our own proxies stand in front
if PROXIES:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SESSION_ENGINE = "config.sessions"
SESSION_CACHE_ALIAS = "sessions"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 3600
CSRF_FAILURE_VIEW = "config.pages.stale_form"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:", *avatars.sources(AVATAR_HOSTS)],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}

# --- logs ----------------------------------------------------------------------------------------------------------
logs.configure_structlog()
LOGGING = logs.dict_config(
    json=PRODUCTION, level=env.one_of("RUNG_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))
)
