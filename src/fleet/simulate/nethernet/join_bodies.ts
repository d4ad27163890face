/**
 * The bodies of NetherNet's status, and what a correct scanner reads. Expected values are written by
 * hand, not produced by a decoder.
 *
 * @module
 */
import type { ServerRecord } from "../../../core/record.ts";
import type { Statement } from "../../../protocols/protocol.ts";
import type { Motd, SimulatedIdentity } from "../server_identity.ts";

/** A status in the form of one software. */
export interface JoinBody {
  /** The body, JSON or another text. */
  readonly text: (identity: SimulatedIdentity) => string;
  /** What a correct scanner reads. */
  readonly truth: (identity: SimulatedIdentity) => Statement;
  /** Whether the body says too little to be a server without a reply in another protocol. */
  readonly weak?: boolean;
}

/** The parts of a status that differ between software. */
interface Form {
  readonly motd?: (motd: Motd) => Motd;
  readonly level?: string;
  readonly gamemode?: string;
  readonly max?: (identity: SimulatedIdentity) => number;
}

const GAMEMODES = ["Survival", "Creative", "Adventure"];
/** The keys of a Bedrock Dedicated Server, in its order. */
const KEYS = ["name", "protocol", "version", "level", "players", "maxPlayers", "gameType"];
const SAME = (motd: Motd) => motd;

/** The seven members of a Bedrock Dedicated Server. */
function members(identity: SimulatedIdentity, { motd = SAME, ...form }: Form) {
  const { protocol, version, online } = identity;
  return {
    name: motd(identity.motd).text,
    protocol,
    version,
    level: form.level ?? identity.level,
    players: online,
    maxPlayers: form.max?.(identity) ?? identity.max,
    gameType: GAMEMODES.indexOf(form.gamemode ?? identity.gamemode),
  };
}

/** The columns that a scanner reads from the seven members. */
function columns(
  identity: SimulatedIdentity,
  { motd = SAME, ...form }: Form,
): Partial<ServerRecord> {
  const { text, plain } = motd(identity.motd);
  return {
    edition: "bedrock",
    name: plain,
    motd: text,
    motd_plain: plain,
    version: identity.version,
    protocol_version: identity.protocol,
    map: form.level ?? identity.level,
    gamemode: form.gamemode ?? identity.gamemode,
    players_online: identity.online,
    players_max: form.max?.(identity) ?? identity.max,
  };
}

/** A value like those of servers, which draw it at random. */
const nonceOf = ({ guid }: SimulatedIdentity) => guid.toString(36);

/** The status of a Bedrock Dedicated Server. */
export const SEVEN_MEMBERS: JoinBody = {
  text: (identity) => JSON.stringify(members(identity, {})),
  truth: (identity) => ({ columns: columns(identity, {}), flags: [], facts: { keys: KEYS } }),
};

/** The status of Cloudburst's library and of Altay, with 15 members. */
export function fifteenMembers(form: Form = {}): JoinBody {
  const rest = { editor: false, hardcore: false, onlineAuth: true, selfSignedAuth: false };
  return {
    text: (identity) =>
      JSON.stringify({
        dataVersion: 7,
        ...members(identity, form),
        ...rest,
        nonce: nonceOf(identity),
        transportLayer: 2,
        connection: 4,
      }),
    truth: (identity) => ({
      columns: columns(identity, form),
      flags: [],
      facts: {
        keys: [
          "dataVersion",
          ...KEYS,
          "editor",
          "hardcore",
          "onlineAuth",
          "selfSignedAuth",
          "nonce",
          "transportLayer",
          "connection",
        ],
        data_version: 7,
        editor: false,
        hardcore: false,
        online_auth: true,
        self_signed_auth: false,
        nonce: nonceOf(identity),
        transport: 2,
        connection: 4,
      },
    }),
  };
}

/** A reply without a status: its server hides it, or nothing more is known of it. */
export function noStatus(text: string, flags: readonly string[], weak: boolean): JoinBody {
  return {
    text: () => text,
    truth: () => ({ columns: { edition: "bedrock" }, flags, facts: {} }),
    weak,
  };
}
