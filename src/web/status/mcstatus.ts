/**
 * The documents of mcstatus.io, version 2: an unknown member of a server that is online is null.
 *
 * @module
 */
import { modsOf } from "../components/server_facts.tsx";
import { wholeText } from "./formatted_texts.ts";
import {
  bedrockId,
  bothLines,
  expiresAt,
  iconUrl,
  ipOf,
  motdOptions,
  onlineServer,
  protocolNumber,
  retrievedAt,
  sampleOf,
  serviceOf,
  type StatusAnswer,
  uuidOf,
  versionName,
  withVersions,
} from "./server_facts.ts";
import type { McstatusBedrock, McstatusJava } from "./status_schemas.ts";

/** The document of a Java server. */
export function mcstatusJava(answer: StatusAnswer): McstatusJava {
  const common = { ...commonOf(answer), srv_record: serviceOf(answer) ?? null };
  const server = onlineServer(answer);
  if (server === undefined) return common;
  const name = versionName(server, answer);
  const { plugins, players_online: online, players_max: max, software } = server;
  const { names, lines } = sampleOf(server, answer);
  return {
    ...common,
    version: name === null ? null : { ...namesOf(name), protocol: protocolNumber(server, answer) },
    players: {
      online,
      max,
      list: [...names, ...lines].map((one) => ({ uuid: uuidOf(one, answer), ...namesOf(one) })),
    },
    motd: wholeText(server.motd ?? "", motdOptions(server, answer)),
    icon: iconUrl(answer),
    mods: withVersions(modsOf(server)),
    plugins: (plugins ?? []).map(({ name, version }) => ({ name, version })),
    software,
  };
}

/** The names of the service for each edition of Bedrock. */
const BEDROCK_EDITIONS: Readonly<Record<string, string>> = {
  bedrock: "MCPE",
  pocket: "MCPE",
  education: "MCEE",
};

/** The document of a Bedrock server. */
export function mcstatusBedrock(answer: StatusAnswer): McstatusBedrock {
  const common = commonOf(answer);
  const server = onlineServer(answer);
  if (server === undefined) return common;
  const [name, protocol] = [versionName(server, answer), protocolNumber(server, answer)];
  const { players_online: online, players_max: max, gamemode, edition } = server;
  const motd = bothLines(server);
  return {
    ...common,
    version: name === null && protocol === null ? null : { name, protocol },
    players: online === null && max === null ? null : { online, max },
    motd: motd === null ? null : wholeText(motd, motdOptions(server, answer)),
    gamemode,
    server_id: bedrockId(server),
    edition: BEDROCK_EDITIONS[edition ?? ""] ?? null,
  };
}

/** What the document has of each server, online or not. */
function commonOf(answer: StatusAnswer) {
  return {
    online: onlineServer(answer) !== undefined,
    host: answer.address.host,
    port: answer.query.port,
    ip_address: ipOf(answer) ?? null,
    eula_blocked: false,
    retrieved_at: retrievedAt(answer),
    expires_at: expiresAt(answer),
  };
}

function namesOf(text: string) {
  const { raw, clean, html } = wholeText(text, { dialect: "java" });
  return { name_raw: raw, name_clean: clean, name_html: html };
}
