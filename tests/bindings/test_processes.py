"""Exits, signals, forks and sub-interpreters: never an abort, never a hang."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

LIMIT_S = 120  # generous: a hang, not a slow machine, is what fails


def run(code: str) -> str:
    """What a process of its own prints; it must end well, and in time."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code)],
        check=False,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
    assert "Fatal" not in done.stderr
    assert "terminate" not in done.stderr
    return done.stdout


BUSY_THREADS = {
    "get": "DeltaChannel().get()",
    "get_with_timeout": "DeltaChannel().get(1000)",
    "next": "next(DeltaChannel())",
    "wait": "DeltaChannel().wait()",
    "put": "full.put(delta)",
    "put_many": "full.put_many(delta for _ in range(9))",
    "put_final": "full.put_final(delta)",
    "streamer": "[streamer.put([0] * 50) for _ in range(1000)]",
    "long_texts": "[Parser('hermes').parse_chunk('x' * 1_000_000) for _ in range(10**9)]",
    "vocabularies": "[Vocabulary({f't{i}': i for i in range(3000)}, []) for _ in range(10**9)]",
    "python_in_between": "[Parser('hermes', tokenizer=v).parse_chunk(tokens=[Id()] * 99) for _ in range(10**9)]",
    "messages": "[Parser('hermes', repair=True).parse(MENDED) for _ in range(10**9)]",
    "iterables": "DeltaChannel().put_many(forever())",
    "writers": "WireWriter('chat_completions', model='m').write(forever())",
}


@pytest.mark.parametrize("work", BUSY_THREADS)
def test_a_daemon_thread_at_exit(work: str) -> None:
    code = f"""
        import threading, time
        from unspool import Delta, DeltaChannel, Parser, TokenStreamer, Vocabulary, WireWriter

        delta = Delta("content", text="x")
        full = DeltaChannel(maxsize=1)
        full.put(delta)
        v = Vocabulary({{"a": 0}}, [])
        streamer = TokenStreamer(v, "hermes", channel=full)
        started = threading.Semaphore(0)

        MENDED = "<tool_call>{{'name': 'f', 'arguments': {{'a': 1,}}}}</tool_call>" * 9

        class Id:
            def __index__(self):
                return 0

        def forever():
            while True:
                yield delta

        def work():
            started.release()
            {BUSY_THREADS[work]}

        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        for _ in range(4):
            started.acquire()
        time.sleep(0.3)
        print("over")
    """
    assert run(code) == "over\n"


def test_a_task_that_waits_in_a_daemon_thread_at_exit() -> None:
    code = """
        import asyncio, threading, time
        from unspool import DeltaChannel

        channel = DeltaChannel()
        threading.Thread(target=lambda: asyncio.run(channel.aget()), daemon=True).start()
        time.sleep(0.3)
        print("over")
    """
    assert run(code) == "over\n"


def test_an_error_in_a_channel_at_exit() -> None:
    code = """
        import sys, unspool

        sys.kept = unspool.DeltaChannel()
        sys.kept.fail(RuntimeError(sys.kept))
        sys.parser = unspool.Parser("hermes")
        print("over")
    """
    assert run(code) == "over\n"


SUB_INTERPRETERS = """
    import sys
    {first}
    try:
        import _interpreters as interpreters
    except ImportError:
        try:
            import _xxinterpchannels  # 3.12
        except ImportError:
            pass
        import _xxsubinterpreters as interpreters
    code = '''
    try:
        import unspool
    except ImportError as error:
        text = str(error)
        assert "sub-interpreter" in text or "subinterpreters" in text, text
    else:
        raise SystemExit("imported")
    '''
    import textwrap
    id = interpreters.create()
    failed = interpreters.run_string(id, textwrap.dedent(code))
    assert not failed, failed
    interpreters.destroy(id)
    import unspool
    assert unspool.parse("hi", "hermes").content == "hi"
    print("over")
"""


@pytest.mark.parametrize("first", ["", "import unspool"])
def test_a_sub_interpreter_is_refused_at_import(first: str) -> None:
    assert run(SUB_INTERPRETERS.replace("{first}", first)) == "over\n"


def test_an_import_again() -> None:
    code = """
        import sys, unspool
        first = unspool.DeltaChannel
        for name in [name for name in sys.modules if name.split(".")[0] == "unspool"]:
            del sys.modules[name]
        del unspool
        import unspool
        assert unspool.DeltaChannel is first
        assert unspool.parse("hi", "hermes").content == "hi"
        print("over")
    """
    assert run(code) == "over\n"


FORK = """
    import os, sys, threading, time, asyncio, gc, signal
    import unspool
    from unspool import Delta, DeltaChannel, TokenStreamer, Vocabulary

    def child(work):
        "Runs `work` in a fork; its time is limited there."
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)
            code = 1
            try:
                work()
                gc.collect()
                code = 0
            finally:
                sys.stderr.flush()
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    def raises(kind, call):
        try:
            call()
        except kind as error:
            assert "fork" in str(error), error
        else:
            raise AssertionError("nothing was raised")

    delta = Delta("content", text="x")
"""
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
def test_a_fork_while_threads_wait_on_channels() -> None:
    code = (
        FORK
        + """
    channels = [DeltaChannel(maxsize=1) for _ in range(20)]
    full = DeltaChannel(maxsize=1)
    full.put(delta)
    for channel in channels:
        threading.Thread(target=channel.get, daemon=True).start()
    threading.Thread(target=lambda: full.put(delta), daemon=True).start()

    def busy():  # its lock is taken most of the time
        while True:
            one.put(delta)
            one.drain()

    one = DeltaChannel()
    threading.Thread(target=busy, daemon=True).start()
    time.sleep(0.3)
    streamer = TokenStreamer(Vocabulary({"a": 0}, []), "hermes", channel=DeltaChannel())

    def work():
        for channel in [*channels, full, one]:
            raises(unspool.ChannelCancelledError, channel.get)
            raises(unspool.ChannelCancelledError, lambda: channel.put(delta))
            raises(unspool.ChannelCancelledError, lambda: channel.put_many([delta]))
            raises(unspool.ChannelCancelledError, channel.drain)
            raises(unspool.ChannelCancelledError, channel.wait)
            raises(unspool.ChannelCancelledError, lambda: list(channel))
            raises(unspool.ChannelCancelledError, lambda: asyncio.run(channel.aget()))
            assert channel.is_closed and channel.is_cancelled and channel.is_finished
            assert len(channel) == 0
            channel.close()
            channel.cancel()
            channel.fail(RuntimeError())
        raises(unspool.ChannelCancelledError, lambda: streamer.put([0]))
        channels.clear()
        channel = None
        globals().update(full=None, one=None, streamer=None)
        gc.collect()
        new = DeltaChannel()
        threading.Thread(target=lambda: new.put_final(delta), daemon=True).start()
        assert list(new) == [delta]
        assert unspool.parse("hi", "hermes").content == "hi"

    for _ in range(5):
        child(work)
    print("over")
"""
    )
    assert run(code) == "over\n"


@needs_fork
def test_a_fork_while_threads_compile_and_parse() -> None:
    code = (
        FORK
        + """
    def busy():
        while True:
            unspool.Parser("qwen3_coder").parse_chunk("x" * 300_000)

    for _ in range(3):
        threading.Thread(target=busy, daemon=True).start()
    time.sleep(0.2)
    for _ in range(20):
        child(lambda: unspool.parse("hi", "hermes", tokenizer=Vocabulary({"a": 0}, [])))
    print("over")
"""
    )
    assert run(code) == "over\n"


SIGNALS = """
    import signal, threading, time, os
    from unspool import Delta, DeltaChannel, TokenStreamer, Vocabulary

    signal.signal(signal.SIGINT, signal.default_int_handler)
    delta = lambda n: Delta("content", text=str(n))

    def interrupted(call):
        "Whether Ctrl-C, sent while it waits, ended the call."
        main, over, returned = threading.main_thread().ident, threading.Event(), []
        sender = threading.Thread(
            target=lambda: over.wait(0.4) or signal.pthread_kill(main, signal.SIGINT)
        )
        sender.start()
        try:
            call()
            returned.append(True)
            over.set()
            sender.join()
        except KeyboardInterrupt:
            over.set()
            sender.join()
        return not returned
"""
needs_signals = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


@needs_signals
@pytest.mark.parametrize("put", ["put", "put_final"])
def test_ctrl_c_in_a_put_has_put_nothing(put: str) -> None:
    code = (
        SIGNALS
        + f"""
    channel = DeltaChannel(maxsize=1)
    channel.put(delta(0))
    assert interrupted(lambda: channel.{put}(delta(1)))
    assert [item.text for item in channel.drain()] == ["0"]
    assert not channel.is_closed
    channel.{put}(delta(1))
    channel.close()
    assert [item.text for item in channel] == ["1"]
    print("over")
"""
    )
    assert run(code) == "over\n"


@needs_signals
def test_ctrl_c_in_a_get_has_taken_nothing() -> None:
    code = (
        SIGNALS
        + """
    channel = DeltaChannel()
    assert interrupted(channel.get)
    assert interrupted(lambda: next(channel))
    assert interrupted(channel.wait)

    # Both at once: the delta is there when the signal is handled.
    def both(signum, frame):
        channel.put(delta(1))
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, both)
    assert interrupted(channel.get)
    assert channel.get(0).text == "1"
    print("over")
"""
    )
    assert run(code) == "over\n"


@needs_signals
def test_ctrl_c_in_put_many_leaves_the_rest_in_the_iterator() -> None:
    code = (
        SIGNALS
        + """
    channel = DeltaChannel(maxsize=3)
    deltas = iter([delta(n) for n in range(8)])
    got = []
    while True:
        if not interrupted(lambda: channel.put_many(deltas)):
            break
        got += [item.text for item in channel.drain()]
    got += [item.text for item in channel.drain()]
    assert got == [str(n) for n in range(8)], got
    print("over")
"""
    )
    assert run(code) == "over\n"


@needs_signals
def test_ctrl_c_in_a_streamer_keeps_what_was_read() -> None:
    code = (
        SIGNALS
        + """
    channel = DeltaChannel(maxsize=1)
    words = {word: i for i, word in enumerate(
        ["a", "<tool_call>", '{"name": "f", "arguments": {"x": 1}}', "</tool_call>", "b"])}
    streamer = TokenStreamer(Vocabulary(words, []), "hermes", channel=channel, id_seed=1)
    plain = TokenStreamer(Vocabulary(words, []), "hermes", id_seed=1)
    expected = plain.put([0, 1, 2, 3]) + plain.put([4]) + plain.end()
    got = []

    def drain():
        got.extend(channel.drain())

    assert interrupted(lambda: streamer.put([0, 1, 2, 3]))
    drain()
    # The chunk was read, and its deltas go first; each further call is interrupted too.
    while interrupted(lambda: streamer.put([])):
        drain()
    drain()
    rest = [lambda: streamer.put([4]), streamer.end]
    for call in rest:
        if interrupted(call):
            drain()
            while call == streamer.end and interrupted(streamer.end):
                drain()
    drain()
    assert got == expected, (got, expected)
    assert channel.is_finished
    print("over")
"""
    )
    assert run(code) == "over\n"
