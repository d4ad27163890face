/**
 * JSON Schemas of the documents of the status API, and their types. The members of documents are those of
 * mcsrvstat.us (versions 2 and 3) and mcstatus.io (version 2).
 *
 * @module
 */
import { type Schema, SCHEMA_PARTS, type ValueOf } from "../queries/schemas.ts";

const { object, list, orNull, described } = SCHEMA_PARTS;
const { text, textOrNull, integer, integerOrNull, count, countOrNull, yesNo } = SCHEMA_PARTS;

const forms = <Form>(form: Schema<Form>) => object({ raw: form, clean: form, html: form });
const LINES = forms(list(text));
const WHOLE = forms(text);
const SECONDS = described(integer, "Unix seconds");
const MILLISECONDS = described(integer, "Unix milliseconds");

const DEBUG = object({
  ping: described(yesNo, "whether the server replied in a protocol of the game"),
  query: described(yesNo, "whether it replied to Query"),
  bedrock: yesNo,
  srv: described(yesNo, "whether an SRV record led to the server"),
  querymismatch: described(yesNo, "always false: not checked"),
  ipinsrv: described(yesNo, "always false: not checked"),
  cnameinsrv: described(yesNo, "always false: not checked"),
  animatedmotd: described(yesNo, "always false: not checked"),
  cachehit: described(yesNo, "whether the request has caused no probe"),
  cachetime: described(SECONDS, "when the server was last probed, Unix seconds"),
  cacheexpire: described(SECONDS, "until when the status counts as fresh"),
  apiversion: integer,
}, { error: object({}, { ip: text, ping: text }) });

/** What both versions of mcsrvstat.us have in common. */
const MCSRVSTAT = {
  always: {
    online: yesNo,
    ip: described(text, "127.0.0.1 for a name without an address"),
    port: described(count, "the port of the server, also that of an SRV record"),
    debug: DEBUG,
  },
  online: {
    hostname: described(text, "the requested name, or the target of its SRV record"),
    motd: LINES,
    version: text,
    icon: described(text, "a data URL of a PNG"),
    software: text,
    gamemode: described(text, "of Bedrock servers only"),
    serverid: described(text, "of Bedrock servers only"),
    eula_blocked: described(yesNo, "of Java servers only; always false: not checked"),
    info: described(LINES, "lines of text in place of players; with --names only"),
  },
};

const NAMED_VERSIONS = list(object({ name: text, version: text }));

export const MCSRVSTAT_3 = object(MCSRVSTAT.always, {
  ...MCSRVSTAT.online,
  protocol: object({ version: integer }, { name: text }),
  map: WHOLE,
  players: object({ online: count, max: count }, {
    list: described(list(object({ name: text, uuid: text })), "with --names only"),
  }),
  plugins: NAMED_VERSIONS,
  mods: NAMED_VERSIONS,
});

const NAMES = object({ names: list(text), raw: list(text) });

export const MCSRVSTAT_2 = object(MCSRVSTAT.always, {
  ...MCSRVSTAT.online,
  protocol: integer,
  map: text,
  players: object({ online: count, max: count }, {
    list: described(list(text), "with --names only"),
    uuid: described<Record<string, string>>(
      { type: "object", additionalProperties: text },
      "UUIDs by name, of fresh statuses only",
    ),
  }),
  plugins: NAMES,
  mods: NAMES,
});

/** What both editions of mcstatus.io have in common. */
const MCSTATUS = {
  online: yesNo,
  host: described(text, "as requested, in lower case"),
  port: described(count, "as requested, or the usual one; not that of an SRV record"),
  ip_address: textOrNull,
  eula_blocked: described(yesNo, "always false: not checked"),
  retrieved_at: described(MILLISECONDS, "when the server was last probed, Unix milliseconds"),
  expires_at: described(MILLISECONDS, "until when the status counts as fresh"),
};

const VERSION_NAMES = { name_raw: text, name_clean: text, name_html: text };

export const MCSTATUS_JAVA = object({
  ...MCSTATUS,
  srv_record: orNull(object({ host: text, port: count })),
}, {
  version: orNull(object({ ...VERSION_NAMES, protocol: integerOrNull })),
  players: object({
    online: countOrNull,
    max: countOrNull,
    list: described(
      list(object({ uuid: described(text, "empty if unknown"), ...VERSION_NAMES })),
      "empty without --names",
    ),
  }),
  motd: WHOLE,
  icon: described(textOrNull, "a data URL of a PNG"),
  mods: NAMED_VERSIONS,
  plugins: list(object({ name: text, version: textOrNull })),
  software: textOrNull,
});

export const MCSTATUS_BEDROCK = object(MCSTATUS, {
  version: orNull(object({ name: textOrNull, protocol: integerOrNull })),
  players: orNull(object({ online: countOrNull, max: countOrNull })),
  motd: orNull(WHOLE),
  gamemode: textOrNull,
  server_id: textOrNull,
  edition: described(textOrNull, "MCPE or MCEE"),
});

export type Mcsrvstat3 = ValueOf<typeof MCSRVSTAT_3>;
export type Mcsrvstat2 = ValueOf<typeof MCSRVSTAT_2>;
export type McstatusJava = ValueOf<typeof MCSTATUS_JAVA>;
export type McstatusBedrock = ValueOf<typeof MCSTATUS_BEDROCK>;
