/**
 * JSON Schemas of the documents of the status API, and their types. The members of documents are those of
 * mcsrvstat.us (versions 2 and 3) and mcstatus.io (version 2).
 *
 * @module
 */
import {
  COUNT,
  COUNT_OR_NULL,
  described,
  INTEGER,
  INTEGER_OR_NULL,
  list,
  object,
  orNull,
  type Schema,
  TEXT,
  TEXT_OR_NULL,
  type ValueOf,
  YES_NO,
} from "../queries/schemas.ts";

const forms = <Form>(form: Schema<Form>) => object({ raw: form, clean: form, html: form });
const LINES = forms(list(TEXT));
const WHOLE = forms(TEXT);
const SECONDS = described(INTEGER, "Unix seconds");
const MILLISECONDS = described(INTEGER, "Unix milliseconds");

const DEBUG = object({
  ping: described(YES_NO, "whether the server replied in a protocol of the game"),
  query: described(YES_NO, "whether it replied to Query"),
  bedrock: YES_NO,
  srv: described(YES_NO, "whether an SRV record led to the server"),
  querymismatch: described(YES_NO, "always false: not checked"),
  ipinsrv: described(YES_NO, "always false: not checked"),
  cnameinsrv: described(YES_NO, "always false: not checked"),
  animatedmotd: described(YES_NO, "always false: not checked"),
  cachehit: described(YES_NO, "whether the database has the server"),
  cachetime: described(SECONDS, "when the server was last probed, Unix seconds"),
  cacheexpire: described(SECONDS, "a minute later"),
  apiversion: INTEGER,
}, { error: object({}, { ip: TEXT, ping: TEXT }) });

/** What both versions of mcsrvstat.us have in common. */
const MCSRVSTAT = {
  always: {
    online: YES_NO,
    ip: described(TEXT, "127.0.0.1 for a name without an address"),
    port: described(COUNT, "the port of the server, also that of an SRV record"),
    debug: DEBUG,
  },
  online: {
    hostname: described(TEXT, "the requested name, or the target of its SRV record"),
    motd: LINES,
    version: TEXT,
    icon: described(TEXT, "a data URL of a PNG"),
    software: TEXT,
    gamemode: described(TEXT, "of Bedrock servers only"),
    serverid: described(TEXT, "of Bedrock servers only"),
    eula_blocked: described(YES_NO, "of Java servers only; always false: not checked"),
    info: described(LINES, "lines of text in place of players; with --names only"),
  },
};

const NAMED_VERSIONS = list(object({ name: TEXT, version: TEXT }));

export const MCSRVSTAT_3 = object(MCSRVSTAT.always, {
  ...MCSRVSTAT.online,
  protocol: object({ version: INTEGER }, { name: TEXT }),
  map: WHOLE,
  players: object({ online: COUNT, max: COUNT }, {
    list: described(list(object({ name: TEXT, uuid: TEXT })), "with --names only"),
  }),
  plugins: NAMED_VERSIONS,
  mods: NAMED_VERSIONS,
});

const NAMES = object({ names: list(TEXT), raw: list(TEXT) });

export const MCSRVSTAT_2 = object(MCSRVSTAT.always, {
  ...MCSRVSTAT.online,
  protocol: INTEGER,
  map: TEXT,
  players: object({ online: COUNT, max: COUNT }, {
    list: described(list(TEXT), "with --names only"),
  }),
  plugins: NAMES,
  mods: NAMES,
});

/** What both editions of mcstatus.io have in common. */
const MCSTATUS = {
  online: YES_NO,
  host: described(TEXT, "as requested, in lower case"),
  port: described(COUNT, "as requested, or the usual one; not that of an SRV record"),
  ip_address: TEXT_OR_NULL,
  eula_blocked: described(YES_NO, "always false: not checked"),
  retrieved_at: described(MILLISECONDS, "when the server was last probed, Unix milliseconds"),
  expires_at: described(MILLISECONDS, "a minute later"),
};

const VERSION_NAMES = { name_raw: TEXT, name_clean: TEXT, name_html: TEXT };

export const MCSTATUS_JAVA = object({
  ...MCSTATUS,
  srv_record: orNull(object({ host: TEXT, port: COUNT })),
}, {
  version: orNull(object({ ...VERSION_NAMES, protocol: INTEGER_OR_NULL })),
  players: object({
    online: COUNT_OR_NULL,
    max: COUNT_OR_NULL,
    list: described(
      list(object({ uuid: described(TEXT, "always empty"), ...VERSION_NAMES })),
      "empty without --names",
    ),
  }),
  motd: WHOLE,
  icon: described(TEXT_OR_NULL, "a data URL of a PNG"),
  mods: NAMED_VERSIONS,
  plugins: list(object({ name: TEXT, version: TEXT_OR_NULL })),
  software: TEXT_OR_NULL,
});

export const MCSTATUS_BEDROCK = object(MCSTATUS, {
  version: orNull(object({ name: TEXT_OR_NULL, protocol: INTEGER_OR_NULL })),
  players: orNull(object({ online: COUNT_OR_NULL, max: COUNT_OR_NULL })),
  motd: orNull(WHOLE),
  gamemode: TEXT_OR_NULL,
  server_id: TEXT_OR_NULL,
  edition: described(TEXT_OR_NULL, "MCPE or MCEE"),
});

export type Mcsrvstat3 = ValueOf<typeof MCSRVSTAT_3>;
export type Mcsrvstat2 = ValueOf<typeof MCSRVSTAT_2>;
export type McstatusJava = ValueOf<typeof MCSTATUS_JAVA>;
export type McstatusBedrock = ValueOf<typeof MCSTATUS_BEDROCK>;
