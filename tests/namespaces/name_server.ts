/**
 * A name server for tests: it reads the IPv4 addresses of names from a file for each query, one
 * `NAME ADDRESS` per line. It has no other records.
 *
 *     deno run -A tests/namespaces/name_server.ts FILE ADDRESS
 *
 * It listens on port 53 of the address.
 */
import { concat } from "../../src/core/bytes.ts";

const [file, hostname] = Deno.args;
const HEADER = 12;
const A = 1;
const NO_SUCH_NAME = 3;

/** The queried name, its type, and the end of the question. */
function readQuestion(query: Uint8Array): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = HEADER;
  for (; query[at] > 0; at += 1 + query[at]) {
    labels.push(new TextDecoder().decode(query.subarray(at + 1, at + 1 + query[at])));
  }
  return { name: labels.join(".").toLowerCase(), type: query[at + 2], end: at + 5 };
}

/** The reply to a query, with a time to live of 0. */
function replyTo(query: Uint8Array, addresses: ReadonlyMap<string, string>): Uint8Array {
  const { name, type, end } = readQuestion(query);
  const address = addresses.get(name);
  const records = address === undefined || type !== A
    ? []
    : [concat([0xc0, HEADER, 0, A, 0, 1, 0, 0, 0, 0, 0, 4], address.split(".").map(Number))];
  const message = concat(query.slice(0, end), ...records);
  message[2] |= 0x80; // a response
  message[3] = 0x80 | (address === undefined ? NO_SUCH_NAME : 0);
  message.set([0, records.length, 0, 0, 0, 0], 6);
  return message;
}

const socket = Deno.listenDatagram({ transport: "udp", hostname, port: 53 });
for await (const [query, from] of socket) {
  const lines = (await Deno.readTextFile(file)).trim().split("\n");
  const addresses = new Map(lines.map((line) => line.split(" ") as [string, string]));
  await socket.send(replyTo(query, addresses), from);
}
