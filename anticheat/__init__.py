"""Trust, a floor above `leaderboards`: what checks find, what people decide about it, and a record of both.

checks     checks/ (each a small class), tuning.py; pace.py with functions/pace.lua
the log    judged anew: walk.py reads, trail.py and chronicle.py remember, judge.py judges, services/rejudging.py keeps;
           features.py, forest.py and model_store.py are the model's, services/training.py trains it
cases      models.py; services/findings.py gathers, services/cases.py holds, queue.py orders
rulings    services/rulings.py, ruling_acts.py (what each does, and undoing it), attempt_states.py; rollbacks.py, with
           selections.py for which attempts; services/erasing.py forgets the words of them;
           services/unchecked.py lets go what nobody has found anything in
a look     dossiers.py (a player), distributions.py, pictures.py, glance.py (what is going on); before an act whatif.py,
           shown by outlooks.py (to operators) and previews.py (over the API)
replays    replays.py, replay_addresses.py; services/replays.py takes them, services/verifying.py has them played again
           in sandbox.py (cell.py, seccomp.py, privileges.py), services/replay_verdicts.py settles; verifying.py is for
           games (demo/)
the audit  audit.py records, kept.py says what; entries.py, chain.py, audit_search.py, audit_export.py, sign_ins.py
doors      admin/ (roles.py), api.py, replay_api.py, tasks.py, commands.py; wire.py, wire_replays.py, selectors.py
how good   season/ is play in which it is known who cheats, evaluation/ what the checks make of it
"""
