"""What holds of every study: its trainings follow from its settings, and what is not trained is absent."""

import pytest

from fedlib.papers.studies import STUDIES
from fedlib.trainings.calls import Call
from fedlib.trainings.store import in_words

from .small import quick

STUDY = pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)


@STUDY
def test_trainings_have_names_and_settings_of_their_own(study):
    p = quick(study)
    study.check(p)
    calls = study.trainings(p)
    assert calls and len({in_words(name) for name in calls}) == len(calls), "a file each"
    for name, call in calls.items():
        assert call.settings(), name
        if isinstance(call, Call):
            keys = call.keys()
            assert len({*keys}) == len(keys) > 0, name


ALWAYS = {"06_flow", "11_client_drift"}
"""Of them something is always there: a run that would train no row at all is refused, and what was kept is stored."""


@STUDY
def test_of_nothing_there_are_results(study):
    if study.NOTEBOOK not in ALWAYS:
        study.results(study.PAPER, {})
