/**
 * Queries the status of Java servers whose addresses arrive on standard input, one per line, as
 * zmap prints them: what zgrab does after zmap, with sockets of Node. Each server is queried with
 * one connection.
 *
 *     zmap ... | node follow.mjs PORT IN_FLIGHT TIMEOUT_MS
 *
 * Prints the address and the status of each server on a line.
 */
import { Buffer } from "node:buffer";
import { connect } from "node:net";
import process from "node:process";
import { createInterface } from "node:readline";

const [port, inFlight, timeout] = process.argv.slice(2).map(Number);
const waiting = [];
let running = 0;

/** Handshake (protocol 769, no host, the port, next state 1) and status request. */
const REQUEST = Buffer.from([7, 0, 0x81, 6, 0, port >> 8, port & 255, 1, 1, 0]);

/** The JSON text of a status reply, whose length is before it; `undefined`: bytes are missing. */
function textOf(bytes) {
  const begin = bytes.indexOf("{");
  if (begin < 3) return undefined;
  const isLong = bytes[begin - 2] >= 0x80; // a length from 128 on has two bytes
  const size = isLong ? (bytes[begin - 2] & 0x7f) | bytes[begin - 1] << 7 : bytes[begin - 1];
  return bytes.length < begin + size ? undefined : bytes.toString("utf8", begin, begin + size);
}

function query(host) {
  running++;
  let bytes = Buffer.alloc(0);
  const socket = connect({ host, port, timeout });
  socket.on("connect", () => socket.write(REQUEST));
  socket.on("data", (part) => {
    bytes = Buffer.concat([bytes, part]);
    const text = textOf(bytes);
    if (text === undefined) return;
    process.stdout.write(`${host} ${text}\n`);
    socket.destroy();
  });
  socket.on("timeout", () => socket.destroy());
  socket.on("error", () => {}); // a host that is no server is left out; `close` follows
  socket.on("close", () => {
    running--;
    begin();
  });
}

function begin() {
  while (running < inFlight && waiting.length > 0) query(waiting.shift());
}

for await (const line of createInterface({ input: process.stdin })) {
  if (!/^\d+\.\d+\.\d+\.\d+$/.test(line)) continue;
  waiting.push(line);
  begin();
}
