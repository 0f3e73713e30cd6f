"""Threads, signals, progress, processes."""

import multiprocessing
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

from lapwing import HarmonicClassifier, HarmonicRegressor
from lapwing.graph import StreamingSparsifier, kneighbors, knn_graph


@pytest.fixture(autouse=True)
def interrupts_are_heard():
    """Background jobs of a shell are started with SIGINT ignored; here it must be heard."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def problem():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 10)).astype(np.float32)
    y = np.full(3000, -1)
    y[:30] = np.arange(30) % 3
    return X, y


@pytest.fixture
def endless():
    """Rows whose exact neighbor search takes many seconds."""
    return np.random.default_rng(6).normal(size=(120_000, 64)).astype(np.float32)


def test_same_bits_for_any_number_of_threads(problem):
    X, y = problem
    one, two, seven = (HarmonicClassifier(n_jobs=n, random_state=0).fit(X, y) for n in (1, 2, 7))
    for other in (two, seven):
        assert other.scores_.tobytes() == one.scores_.tobytes()
        assert other.label_distributions_.tobytes() == one.label_distributions_.tobytes()
        assert other.predict_proba(X[:50]).tobytes() == one.predict_proba(X[:50]).tobytes()
    values = np.where(y >= 0, X[:, 0], np.nan)
    fitted = [HarmonicRegressor(n_jobs=n, random_state=0).fit(X, values).transduction_.tobytes() for n in (1, 2, 7)]
    assert fitted[0] == fitted[1] == fitted[2]


def test_seed_decides_the_partitions(problem):
    X, _ = problem

    def search(random_state):
        return kneighbors(X, 10, method="partitions", recall_target=0.5, random_state=random_state)[1]

    np.testing.assert_array_equal(search(7), search(7))
    assert (search(7) != search(8)).any()
    np.testing.assert_array_equal(search(np.random.RandomState(1)), search(np.random.RandomState(1)))
    np.testing.assert_array_equal(search(np.random.default_rng(1)), search(np.random.default_rng(1)))
    np.random.seed(3)
    first = search(None)
    np.random.seed(3)
    np.testing.assert_array_equal(search(None), first)


@pytest.mark.parametrize(
    "work",
    [
        lambda X: HarmonicClassifier().fit(X, np.where(np.arange(len(X)) < 20, np.arange(len(X)) % 2, -1)),
        lambda X: kneighbors(X, 15, method="exact"),
    ],
    ids=["fit", "exact search"],
)
def test_interrupt_is_heard_within_a_second(endless, work):
    """A second of processor time, which does not depend on what else the machine does."""
    sent = []

    def interrupt():
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        work(endless)
    assert sent and time.process_time() - sent[0] < 1.0
    assert no_worker_is_left()


def test_interpreter_is_free_while_the_work_goes_on(endless):
    started = threading.Event()

    def count():
        """Needs the interpreter a hundred times before it ends the work."""
        started.wait()
        for _ in range(100):
            time.sleep(0.005)
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=count)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        kneighbors(endless, 15, method="exact", callback=lambda _event: started.set())
    other.join()


def test_interrupted_streams_go_on():
    edges = np.random.default_rng(0).integers(0, 2000, size=(6_000_000, 2))
    options = {"edge_budget": 30_000, "sampler": "kelner-levin", "random_state": 1}

    def interrupt(event):
        if event["done"] > 100_000:
            os.kill(os.getpid(), signal.SIGINT)

    stream = StreamingSparsifier(2000, callback=interrupt, **options)
    with pytest.raises(KeyboardInterrupt):
        stream.partial_fit(edges)
    seen = stream.n_edges_seen_
    assert 0 < seen < len(edges)
    stream.set_params(callback=None)
    found = stream.partial_fit(edges[seen:]).result().to_scipy()
    expected = StreamingSparsifier(2000, **options).partial_fit(edges).result().to_scipy()
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.data, expected.data)


def test_callback_hears_phases_and_may_stop_the_run(problem):
    X, y = problem
    events = []
    clf = HarmonicClassifier(callback=events.append).fit(X, y)
    assert all(event.keys() == {"phase", "done", "total", "note", "finished"} for event in events)
    phases = {event["phase"] for event in events}
    assert {"neighbors", "solve"} & phases
    ended = [event for event in events if event["finished"]]
    assert {event["phase"] for event in ended} == phases
    assert all(event["done"] == event["total"] > 0 for event in ended)
    assert {phase["name"] for phase in clf.report_["phases"]} >= {"graph", "solve"}

    def refuse(event):
        raise LookupError(event["phase"])

    with pytest.raises(LookupError):
        HarmonicClassifier(callback=refuse).fit(X, y)
    assert no_worker_is_left()


def test_verbose_writes_phases_to_stderr(problem, capsys):
    X, y = problem
    HarmonicClassifier(verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert out == "" and "[lapwing] solve: " in err
    kneighbors(X, verbose=1)
    knn_graph(X, verbose=1)
    out, err = capsys.readouterr()
    assert out == "" and "[lapwing] neighbors: " in err and "[lapwing] graph: " in err
    HarmonicClassifier().fit(X, y)
    assert capsys.readouterr() == ("", "")


def test_no_thread_outlives_a_call(problem):
    X, y = problem
    clf = HarmonicClassifier(n_jobs=4).fit(X, y)
    clf.predict(X[:10])
    assert no_worker_is_left()


def no_worker_is_left(patience=60.0):
    """Whether no thread of ours is alive; those of a pool that was told to stop need a moment."""
    if not os.path.isdir("/proc/self/task"):
        pytest.skip("threads are counted through /proc")
    until = time.perf_counter() + patience
    while time.perf_counter() < until:
        if not any(name.startswith("lapwing") for name in thread_names()):
            return True
        time.sleep(0.01)
    return False


def thread_names():
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as file:
                yield file.read().strip()
        except OSError:
            pass


def _fit_in_child(X, y, queue):
    queue.put(HarmonicClassifier(n_jobs=2).fit(X, y).scores_.tobytes())


@pytest.mark.parametrize("method", {"fork"} & set(multiprocessing.get_all_start_methods()))
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_children_can_fit(problem, method):
    X, y = problem
    clf = HarmonicClassifier(n_jobs=2).fit(X, y)
    clf.predict(X[:10])
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_fit_in_child, args=(X, y, queue))
    child.start()
    assert queue.get(timeout=600) == clf.scores_.tobytes()
    child.join(timeout=600)
    assert child.exitcode == 0


def test_threads_may_fit_at_once(problem):
    X, y = problem
    expected = HarmonicClassifier().fit(X, y).scores_.tobytes()
    found = []
    threads = [threading.Thread(target=lambda: found.append(HarmonicClassifier().fit(X, y).scores_)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [scores.tobytes() for scores in found] == [expected] * 3


def test_pickle_keeps_everything(problem):
    X, y = problem
    clf = HarmonicClassifier().fit(X, y)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict_proba(X[:20]), clf.predict_proba(X[:20]))
    np.testing.assert_array_equal(again.transduction_, clf.transduction_)
    assert again.report_ == clf.report_
