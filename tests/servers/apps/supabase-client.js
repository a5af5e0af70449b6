// Supabase's own client beside throng's: `node supabase-client.js PORT`. Says `ok` once it has heard a line in realtime:room-0 and
// what it sent elsewhere, of which the server has told it besides.
import process from 'node:process'
import { RealtimeClient } from '@supabase/realtime-js'
import { WebSocket } from 'ws'

const url = `ws://127.0.0.1:${process.argv[2]}/realtime/v1`
const client = new RealtimeClient(url, { params: { apikey: 'anon' }, transport: WebSocket, vsn: '1.0.0' })
const fail = setTimeout(() => process.exit(1), 30_000)

const subscribed = (channel) => new Promise((resolve, reject) => {
  channel.subscribe((status, error) => (status === 'SUBSCRIBED' ? resolve(channel) : reject(error ?? status)))
})
const heard = (channel, event) => new Promise((resolve) => channel.on('broadcast', { event }, ({ payload }) => resolve(payload)))

const room = client.channel('room-0')
const line = heard(room, 'line')
await subscribed(room)
const elsewhere = client.channel('elsewhere', { config: { broadcast: { self: true, ack: true } } })
const greeting = heard(elsewhere, 'greeting')
await subscribed(elsewhere)
const answer = await elsewhere.send({ type: 'broadcast', event: 'greeting', payload: { text: 'hello' } })
if (answer !== 'ok' || (await greeting).text !== 'hello') throw new Error(answer)
if (!(await line).text.startsWith('throng-')) throw new Error('no line of throng')
clearTimeout(fail)
console.log('ok')
process.exit(0)
