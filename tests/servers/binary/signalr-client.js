// SignalR's own client beside throng: `node signalr-client.js PORT`. It negotiates, and says `ok` once it has heard its own line from
// the hub, and one of throng.
import process from 'node:process'
import { HttpTransportType, HubConnectionBuilder, LogLevel } from '@microsoft/signalr'

const fail = setTimeout(() => process.exit(1), 30_000)
const hub = new HubConnectionBuilder()
  .withUrl(`http://127.0.0.1:${process.argv[2]}/chat`, { transport: HttpTransportType.WebSockets })
  .configureLogging(LogLevel.Warning)
  .build()
const lines = []
let wake = () => {}
hub.on('said', (line) => {
  lines.push(String(line))
  wake()
})
const heard = async (isIt) => {
  while (!lines.some(isIt)) await new Promise((resolve) => { wake = resolve })
}
await hub.start()
await hub.send('say', 'hello')
await heard((line) => line === 'hello')
await heard((line) => line.includes('throng-'))
await hub.stop()
clearTimeout(fail)
console.log('ok')
process.exit(0)
