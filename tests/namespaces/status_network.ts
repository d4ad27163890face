// deno-lint-ignore-file no-console
/**
 * The network of status_modes.sh: a name server with the names of hostile clients, and a Java server on each
 * address.
 *
 *     deno run -A tests/namespaces/status_network.ts
 */
import { concat } from "../../src/core/bytes.ts";
import { parseAddress } from "../../src/core/address.ts";
import { slpServer, talk } from "../fakes/slp.ts";
import { LEADS_ASTRAY, PUBLIC, SERVICES } from "../app/status_api/hostile_targets.ts";

const HEADER = 12;
const [A, AAAA, SRV] = [1, 28, 33];
const NO_SUCH_NAME = 3;

const ADDRESSES = new Map<string, readonly string[]>([
  ["play.example.org", [PUBLIC]],
  ...LEADS_ASTRAY.map(([name, address]) => [name, [address]] as const),
  ...SERVICES.map(([, host, , addresses]) => [host, addresses] as const),
]);
const HOSTS = new Map(
  SERVICES.map(([name, host, port]) => [`_minecraft._tcp.${name}`, { host, port }]),
);
/** The address to which a name leads at each further query. */
const REBOUND = [PUBLIC, "127.0.0.1", "10.0.0.1", "169.254.169.254"];
let queries = 0;

function recordsOf(name: string, type: number): Uint8Array[] | undefined {
  const service = HOSTS.get(name);
  if (service !== undefined) {
    if (type !== SRV) return [];
    const labels = service.host.split(".").map((label) => new TextEncoder().encode(label));
    const host = concat(...labels.flatMap((label) => [[label.length], label]), [0]);
    return [concat([0, 0, 0, 0, service.port >> 8, service.port & 255], host)];
  }
  const all = name === "rebinding.example"
    ? type === A ? [REBOUND[queries++ % REBOUND.length]] : []
    : ADDRESSES.get(name);
  if (all === undefined) return SERVICES.some(([known]) => known === name) ? [] : undefined;
  return all.flatMap((text) => {
    const address = parseAddress(text)!;
    if ((typeof address === "number" ? A : AAAA) !== type) return [];
    const digits = address.toString(16).padStart(type === A ? 8 : 32, "0");
    return [Uint8Array.fromHex(digits)];
  });
}

/** The reply to a query, with a time to live of 0. */
function replyTo(query: Uint8Array): Uint8Array {
  const labels: string[] = [];
  let at = HEADER;
  for (; query[at] > 0; at += 1 + query[at]) {
    labels.push(new TextDecoder().decode(query.subarray(at + 1, at + 1 + query[at])));
  }
  const type = query[at + 2];
  const records = recordsOf(labels.join(".").toLowerCase(), type);
  const answers = (records ?? []).map((data) =>
    concat([0xc0, HEADER, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length], data)
  );
  const message = concat(query.slice(0, at + 5), ...answers);
  message[2] |= 0x80; // a response
  message[3] = 0x80 | (records === undefined ? NO_SUCH_NAME : 0);
  message.set([0, answers.length, 0, 0, 0, 0], 6);
  return message;
}

async function serveNames(): Promise<void> {
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.123.0.53", port: 53 });
  for await (const [query, from] of socket) await socket.send(replyTo(query), from);
}

async function servePlayers(port: number): Promise<void> {
  const responder = slpServer("vanilla");
  for await (const conn of Deno.listen({ hostname: "0.0.0.0", port })) {
    talk(conn, responder).catch(() => {}); // the client has closed the connection
  }
}

void serveNames();
for (const port of [22, 80, 443, 1023, 25565, 25566]) void servePlayers(port);
console.log("ready");
