"""Values that stay in the session between runs."""

from __future__ import annotations

import gc

import pytest

import graphflow as gf
from graphflow._core.kernels.state.session_handles import SessionValues


def test_a_value_stays_and_is_fed_by_its_handle() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        a = gf.constant(10)
        product = a * 5
        handle, value = session.run([gf.get_session_handle(product), product * a])
        assert (handle.eval(), value) == (50, 500)
        fed, kept = gf.get_session_tensor(handle.handle, gf.int32)
        assert session.run(kept * 10, {fed: handle.handle}) == 500


def test_a_handle_takes_the_place_of_the_value() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        c, d = gf.constant(10.0) * 5.0, gf.constant(10.0) / 5.0
        difference = c - d
        first, second = session.run([gf.get_session_handle(c), gf.get_session_handle(d)])
        assert session.run(difference, {c: first, d: second}) == 48.0
        assert session.run(difference, {c: second, d: first}) == -48.0
        with pytest.raises(TypeError, match="`data` must be"):
            gf.get_session_handle(3.0)  # type: ignore[arg-type]


def test_a_loop_of_runs_keeps_only_what_is_held() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        handle = session.run(gf.get_session_handle(gf.constant(0)))
        fed, kept = gf.get_session_tensor(handle.handle, gf.int32)
        following = gf.get_session_handle(kept + 1)
        for _ in range(20):
            handle = session.run(following, {fed: handle.handle})
        assert handle.eval() == 20
        gc.collect()
        assert len(SessionValues.of(session.store)._values) == 1


def test_a_deleted_value_is_gone() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        keep = gf.get_session_handle(gf.constant([1.0, 2.0]))
        handle, raw = session.run(keep), session.run(keep).get_raw_handle()
        handle.delete()
        with pytest.raises(TypeError, match="may have already been deleted"):
            handle.eval()
        fed, kept = gf.get_session_tensor(raw, gf.float32)
        assert session.run(kept, {fed: raw}).tolist() == [1.0, 2.0]
        holder, drop = gf.delete_session_tensor(raw)
        session.run(drop, {holder: raw})
        with pytest.raises(gf.errors.InvalidArgumentError, match="not in the session store"):
            session.run(kept, {fed: raw})
