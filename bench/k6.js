// k6's part: VUS connections, each of which sends its next message when the last one is back, ECHOES times, or, with
// ECHOES=0, holds still for HOLD_MS.
import exec from "k6/execution";
import { WebSocket } from "k6/websockets";

export const options = {
  scenarios: { all: { executor: "per-vu-iterations", vus: Number(__ENV.VUS), iterations: 1, maxDuration: "10m" } },
};

const MESSAGE = '{"type":"echo","payload":{"sendTime":"1700000000000000000"}}';

export default function () {
  const socket = new WebSocket(__ENV.URL);
  let left = Number(__ENV.ECHOES);
  socket.onerror = (event) => exec.test.abort(event.error);
  socket.onopen = () => {
    if (left === 0) setTimeout(() => socket.close(), Number(__ENV.HOLD_MS));
    else socket.send(MESSAGE);
  };
  socket.onmessage = () => {
    left -= 1;
    if (left > 0) socket.send(MESSAGE);
    else socket.close();
  };
}
