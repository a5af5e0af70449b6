"""A central system of OCPP 1.6 on the packages `ocpp` and `websockets`: `server.py PORT`. GET / tells what charge points said."""

import asyncio
import http
import json
import sys
from datetime import datetime, timezone

import websockets
from ocpp.routing import on
from ocpp.v16 import ChargePoint, call, call_result
from ocpp.v16.enums import Action, MessageTrigger, RegistrationStatus, TriggerMessageStatus

counts = {"connected": 0, "booted": 0, "heartbeats": 0, "triggered": 0}


def now() -> str:
    return datetime.now(timezone.utc).isoformat()


class Station(ChargePoint):
    """A charge point, as the central system sees it."""

    @on(Action.boot_notification)
    def boot(self, charge_point_vendor: str, charge_point_model: str, **_: object) -> call_result.BootNotification:
        counts["booted"] += 1
        asyncio.get_running_loop().create_task(self.trigger())
        return call_result.BootNotification(current_time=now(), interval=300, status=RegistrationStatus.accepted)

    @on(Action.heartbeat)
    def heartbeat(self) -> call_result.Heartbeat:
        counts["heartbeats"] += 1
        return call_result.Heartbeat(current_time=now())

    async def trigger(self) -> None:
        """Calls the charge point, as central systems do when it has booted."""
        answer = await self.call(call.TriggerMessage(requested_message=MessageTrigger.status_notification))
        counts["triggered"] += answer.status == TriggerMessageStatus.accepted


async def serve(connection: websockets.ServerConnection) -> None:
    """Hears a charge point until it hangs up."""
    if connection.subprotocol is None:
        await connection.close(1002, "no ocpp1.6")
        return
    counts["connected"] += 1
    station = Station(connection.request.path.rpartition("/")[2], connection)
    try:
        await station.start()
    except websockets.ConnectionClosed:
        pass


def tell(connection: websockets.ServerConnection, request: websockets.Request) -> websockets.Response | None:
    """Answers a plain request."""
    if request.path == "/":
        return connection.respond(http.HTTPStatus.OK, json.dumps(counts))
    return None


async def main() -> None:
    port = int(sys.argv[1])
    async with websockets.serve(serve, "127.0.0.1", port, subprotocols=["ocpp1.6"], process_request=tell):
        await asyncio.get_running_loop().create_future()


asyncio.run(main())
