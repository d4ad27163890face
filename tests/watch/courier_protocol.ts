/** Courier, an invented sibling of RakNet over TCP: a request, and a status as JSON. */
import type { Protocol } from "../../src/protocols/protocol.ts";
import { request } from "../../src/protocols/protocol.ts";
import { BEDROCK_PORTS } from "../../src/protocols/raknet/mod.ts";

/** The status of a server. */
interface CourierStatus {
  readonly name: string;
  readonly protocol: number;
  readonly version: string;
  readonly players: number;
  readonly maxPlayers: number;
}

/** Courier. */
const courierProtocol: Protocol<CourierStatus> = {
  name: "courier",
  finds: "servers that nobody runs, by Courier requests over TCP",
  probeText: "Courier requests over TCP",
  transport: "tcp",
  playerFacts: [],
  ports: { 4: [BEDROCK_PORTS[4]], 6: [BEDROCK_PORTS[4]] },
  siblings: ["raknet"],
  *exchange() {
    let text = "";
    const accept = (chunk: Uint8Array): CourierStatus | undefined => {
      text += new TextDecoder().decode(chunk);
      return text.endsWith("}") ? JSON.parse(text) : undefined;
    };
    return yield* request(new TextEncoder().encode("COURIER?\n"), accept, { resend: false });
  },
  record: ({ name, protocol, version, players, maxPlayers }) => ({
    columns: {
      ...{ edition: "bedrock", motd: name, motd_plain: name, name, version },
      ...{ protocol_version: protocol, players_online: players, players_max: maxPlayers },
    },
    flags: [],
    facts: {},
  }),
};

/** Protocols with Courier, the sibling of RakNet, instead of its real siblings. */
export function couriered(protocols: readonly Protocol[]): readonly Protocol[] {
  const others = protocols.filter(({ siblings }) => siblings === undefined);
  const raknet = protocols.find(({ name }) => name === "raknet")!;
  const courier = courierProtocol as Protocol;
  const rest = others.filter((one) => one !== raknet);
  return [{ ...raknet, siblings: ["courier"] }, courier, ...rest];
}
