from dataclasses import asdict
from typing import Any

from answers import ANSWERS
from lathe import BridgeError, CallContext, Extension, InvalidInput, Permissions
from lathe import context, log, messages, session, settings, storage, tool


def mirror(hook: str, shown: Any) -> Any:
    storage.set(hook, [asdict(chunk) for chunk in shown] if isinstance(shown, list) else asdict(shown))
    if fails := settings().get("fails"):
        raise ValueError(fails)
    return ANSWERS[settings().get("answers", -1)].get(hook)


class Mirror(Extension):
    permissions = Permissions(
        decide=["before_step", "before_tool_call", "after_tool_call"],
        model=True,
        messages=True,
        send_message=True,
        session_info=True,
        context_read=["notes"],
        context_write=["notes"],
    )

    def before_turn(self, turn):
        return mirror("before_turn", turn)

    def before_step(self, step):
        return mirror("before_step", step)

    def before_tool_call(self, call):
        return mirror("before_tool_call", call)

    def after_tool_call(self, call):
        return mirror("after_tool_call", call)

    def on_step_finish(self, step):
        mirror("on_step_finish", step)

    def on_chunk(self, chunks):
        mirror("on_chunk", chunks)

    def on_chat_response(self, response):
        mirror("on_chat_response", response)

    def on_chat_error(self, error):
        mirror("on_chat_error", error)

    @tool()
    def ask(self, x: str, call: CallContext) -> dict:
        """Asks the host for everything."""
        storage.set_bytes("raw", b"\0\xff")
        log.warn("kept")
        context.set("notes", f"{context.get('notes')}!")
        session.send_message("hello")
        full = None
        try:
            storage.set("full", "x" * 4000)
        except BridgeError as error:
            full = error.code
        return {
            "x": x,
            "key": call.idempotency_key,
            "raw": list(storage.get_bytes("raw") or b""),
            "none": storage.get("none", 7),
            "gone": storage.delete("raw"),
            "count": storage.increment("count", 2),
            "keys": storage.keys("co"),
            "full": full,
            "last": [asdict(message) for message in messages.recent(1)],
            "session": asdict(session.info()),
        }

    @tool()
    def refuse(self, how: str = "") -> None:
        """Fails as it is told."""
        raise InvalidInput("another") if how == "input" else ValueError("it failed")
