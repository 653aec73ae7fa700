"""Static files in production: compressed once, and each under a name that changes with what is in it."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class Statics(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # it comes without types
    """Modules that scripts import too: after a deployment no browser mixes an old one with a new one."""

    support_js_module_import_aggregation = True
