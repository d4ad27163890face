/** A name server on loopback. */
import { concat } from "../../src/core/bytes.ts";
import { formatAddress } from "../../src/core/address.ts";
import type { DatagramSocket } from "../../src/net/socket.ts";
import { openSocket } from "../../src/net/deno/udp_socket.ts";
import type { ServiceRecord } from "../../src/targets/srv.ts";

/**
 * The reaction to a query: SRV records, an error code (3: the name does not exist), other bytes, or
 * no reply.
 */
export type DnsAnswer = readonly ServiceRecord[] | number | Uint8Array | "silence";

const LOOPBACK = 0x7f000001;
const HEADER = 12;
const SRV = 33;

/** A running name server, and the queries that it received, in order. */
export interface FakeDns extends AsyncDisposable {
  readonly nameServer: { readonly ipAddr: string; readonly port: number };
  readonly queried: readonly string[];
}

/**
 * Starts a name server that reacts in the same way to every query.
 *
 * @param onQuery Called after each query. Default: nothing.
 */
export function openDns(response: DnsAnswer, onQuery = () => {}): FakeDns {
  const queried: string[] = [];
  const socket: DatagramSocket = openSocket({ address: LOOPBACK, port: 0 });
  const listening = socket.listen((datagram, from) => {
    const { name, end } = readQuestion(datagram);
    queried.push(name);
    if (response !== "silence") {
      socket.send(
        response instanceof Uint8Array ? response : reply(datagram.slice(0, end), response),
        from,
      );
    }
    onQuery();
  });
  return {
    nameServer: { ipAddr: formatAddress(LOOPBACK), port: socket.port },
    queried,
    async [Symbol.asyncDispose]() {
      await socket[Symbol.asyncDispose]();
      await listening;
    },
  };
}

/** The queried name, with its final dot, and the end of the question. */
function readQuestion(query: Uint8Array): { name: string; end: number } {
  let name = "";
  let at = HEADER;
  for (; query[at] > 0; at += 1 + query[at]) {
    name += `${new TextDecoder().decode(query.subarray(at + 1, at + 1 + query[at]))}.`;
  }
  return { name, end: at + 5 };
}

function reply(question: Uint8Array, response: readonly ServiceRecord[] | number): Uint8Array {
  const records = typeof response === "number" ? [] : response;
  const message = concat(question, ...records.map(encodeRecord));
  message[2] |= 0x80; // the flag of a response
  message[3] = 0x80 | (typeof response === "number" ? response : 0);
  message.set([0, records.length, 0, 0, 0, 0], 6);
  return message;
}

/** A record of the queried name. */
function encodeRecord({ priority, weight, port, target }: ServiceRecord): Uint8Array {
  const data = concat(u16(priority), u16(weight), u16(port), encodeName(target));
  const ttl = concat(u16(0), u16(60));
  return concat([0xc0, HEADER], u16(SRV), u16(1), ttl, u16(data.length), data);
}

function encodeName(name: string): Uint8Array {
  const labels = name.replace(/\.$/, "").split(".").filter((label) => label !== "");
  const parts = labels.map((label) => new TextEncoder().encode(label));
  return concat(...parts.map((part) => concat([part.length], part)), [0]);
}

function u16(value: number): Uint8Array {
  return Uint8Array.of(value >> 8, value & 255);
}
