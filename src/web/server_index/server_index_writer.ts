/**
 * Writes servers into a server index.
 *
 * @module
 */
import { parseAddress } from "../../core/address.ts";
import { cutText } from "../../core/text.ts";
import type { Database, Row } from "../../store/database/database.ts";
import { hasParts } from "../../store/queries/listed_parts_filter.ts";
import { canonicalHost } from "../../store/rows/addresses.ts";
import { allFlags } from "../../store/rows/server_flags.ts";
import type { GeoipLookup } from "../../app/geoip/mod.ts";
import { DictionaryWriter } from "./dictionary.ts";
import {
  DICTIONARIES,
  type DictionaryName,
  MAX_SHORT,
  SERVER_BITS,
  type ServerIndexMemory,
  ServerIndexViews,
  versionEntry,
} from "./server_index.ts";
import { TextWriter } from "./text_column.ts";

/**
 * Length of the texts of software, versions and maps that are compared and searched, UTF-16 code
 * units.
 */
const MAX_TEXT = 64;
/** Length of the names that are searched. */
const MAX_NAME = 128;
/** Length of the MOTDs that are searched. */
const MAX_MOTD = 256;
/**
 * Maximum of a number of players. Another program may have written a larger one, or one below 0.
 */
const MAX_PLAYERS = 2 ** 31 - 1;
const MINUTE_MS = 60_000;
const CONFIDENCES = ["A", "B", "C"];

/** SQL of the start of a text, and of one more character, which says that the text is longer. */
function start(column: string, length: number): string {
  return `substr(s.${column}, 1, ${length + 1}) as ${column}`;
}

/**
 * SQL of the columns of servers `s` from which {@linkcode ServerIndexWriter} takes what rarely
 * changes.
 */
export function indexedServerColumns(database: Database): string {
  const lists = (["mods", "plugins"] as const).map((list) =>
    `${hasParts(database, list, "s")} as has_${list}`
  );
  return [...SERVER_COLUMNS, ...lists].join(", ");
}

const SERVER_COLUMNS = [
  "s.id, s.address, s.port, s.protocols, s.flags, s.player_flags, s.software_confidence, s.alias_of, s.changed_at",
  "s.edition, s.protocol_version",
  ...["software", "version", "map"].map((name) => start(name, MAX_TEXT)),
  ...[start("name", MAX_NAME), start("motd_plain", MAX_MOTD)],
];

/**
 * SQL of the columns of states `t` from which {@linkcode ServerIndexWriter} takes what each poll
 * changes.
 */
export const INDEXED_STATE_COLUMNS =
  "t.online, t.players_online, t.players_max, t.probed_at, t.replied_at";

/** The bits that each poll may change. */
const STATE_BITS = SERVER_BITS.online | SERVER_BITS.players | SERVER_BITS.full |
  SERVER_BITS.notFull | SERVER_BITS.removed;

export class ServerIndexWriter extends ServerIndexViews {
  readonly #dictionaries: Readonly<Record<DictionaryName, DictionaryWriter>>;
  readonly #texts: TextWriter;
  /** Whether no further server or text fits: a new server index has to be made. */
  isFull = false;

  constructor(memory: ServerIndexMemory, private readonly geoipOf: GeoipLookup) {
    super(memory);
    const { BYTES_PER_ELEMENT: short } = Uint16Array;
    this.#dictionaries = Object.fromEntries(
      DICTIONARIES.map((name) => {
        const isShort = this.columns[name].BYTES_PER_ELEMENT === short;
        return [
          name,
          new DictionaryWriter(memory.dictionaries[name], isShort ? MAX_SHORT : undefined),
        ];
      }),
    ) as Record<DictionaryName, DictionaryWriter>;
    this.#texts = new TextWriter(memory.texts);
  }

  /** Runs `work`, which writes. Readers that read meanwhile read again. */
  change(work: () => void): void {
    this.revision++;
    try {
      work();
    } finally {
      this.revision++;
    }
  }

  /**
   * Writes the row of a server and its state. Text of a cell that has another form counts as
   * unknown.
   */
  write(row: Row): void {
    const id = Number(row.id);
    const text = textsOf(row);
    let slot = this.insertionSlot(id);
    if (slot === this.count) {
      if (!this.#hasRoom()) return;
      this.columns.id[slot] = id;
      this.#writeValues(slot, row);
      if (!this.#texts.append(slot, text)) this.columns.bits[slot] |= SERVER_BITS.cut;
      this.count = slot + 1;
      return;
    }
    if (this.columns.id[slot] !== id) {
      if (!this.#hasRoom()) return;
      this.#insert(slot, id);
    }
    slot = this.slotOf(id);
    this.#writeValues(slot, row);
    if (!this.#texts.replace(slot, id, text)) this.isFull = true;
  }

  #hasRoom(): boolean {
    if (this.count < this.memory.capacity) return true;
    this.isFull = true;
    return false;
  }

  #insert(slot: number, id: number): void {
    const { count } = this;
    for (const column of Object.values(this.columns)) column.copyWithin(slot + 1, slot, count);
    this.#texts.insert(slot, count);
    this.columns.id[slot] = id;
    this.columns.bits[slot] = 0;
    this.count = count + 1;
  }

  #writeValues(slot: number, row: Row): void {
    const { columns } = this;
    const address = this.#addressOf(String(row.address), slot);
    // The state stays until it is written as a whole: a reader may look meanwhile.
    columns.bits[slot] = columns.bits[slot] & STATE_BITS | address |
      SERVER_BITS.confidence * (1 + CONFIDENCES.indexOf(String(row.software_confidence))) |
      (isCut(row) ? SERVER_BITS.cut : 0) |
      (row.has_mods === 1 ? SERVER_BITS.mods : 0) |
      (row.has_plugins === 1 ? SERVER_BITS.plugins : 0);
    columns.port[slot] = Number(row.port);
    columns.changedAt[slot] = Number(row.changed_at);
    const code = (name: DictionaryName, text: unknown) => {
      columns[name][slot] = this.#dictionaries[name].codeOf(text === null ? null : String(text));
    };
    code("edition", row.edition);
    code("software", cut(row.software, MAX_TEXT));
    const { edition, protocol_version: number } = row;
    code(
      "version",
      versionEntry({
        version: cut(row.version, MAX_TEXT),
        edition: edition === null ? null : String(edition),
        protocol_version: number === null ? null : Number(number),
      }),
    );
    code("protocols", row.protocols);
    code(
      "flags",
      row.player_flags === null
        ? row.flags
        : JSON.stringify(allFlags(String(row.flags), String(row.player_flags))),
    );
    code("alias", row.alias_of);
    const { country, asn, operator } = this.geoipOf(canonicalHost(String(row.address)));
    code("country", country);
    code("operator", asn === null ? null : `${asn} ${operator ?? ""}`);
    this.#writeState(slot, row);
  }

  /** Writes an address; returns the bits that say what it is. */
  #addressOf(text: string, slot: number): number {
    const address = parseAddress(text);
    const { address: column, bits } = this.columns;
    if (address === undefined) return SERVER_BITS.noAddress;
    if (typeof address === "number") {
      column[slot] = address;
      return 0;
    }
    const words = [address >> 64n, address & 0xffffffffffffffffn] as const;
    if (bits[slot] & SERVER_BITS.isV6) {
      this.v6.set(words, 2 * column[slot]);
      return SERVER_BITS.isV6;
    }
    const { v6Count } = this;
    if (v6Count >= this.memory.capacity) {
      this.isFull = true;
      return SERVER_BITS.noAddress;
    }
    this.v6.set(words, 2 * v6Count);
    column[slot] = v6Count;
    this.v6Count = v6Count + 1;
    return SERVER_BITS.isV6;
  }

  #writeState(slot: number, row: Row): void {
    const { bits, players, probedMinute, repliedMinute } = this.columns;
    const online = Number(row.players_online ?? NaN);
    const isKnown = online >= 0;
    const slots = Number(row.players_max ?? 0);
    const fullBit = online >= slots ? SERVER_BITS.full : SERVER_BITS.notFull;
    bits[slot] = bits[slot] & ~STATE_BITS | (row.online === 1 ? SERVER_BITS.online : 0) |
      (isKnown ? SERVER_BITS.players : 0) | (isKnown && slots > 0 ? fullBit : 0);
    players[slot] = isKnown ? Math.min(online, MAX_PLAYERS) : 0;
    probedMinute[slot] = Math.floor(Number(row.probed_at) / MINUTE_MS);
    repliedMinute[slot] = Math.floor(Number(row.replied_at ?? row.probed_at) / MINUTE_MS);
    this.newest[0] = Math.max(this.newest[0], Number(row.replied_at ?? 0));
  }

  /**
   * Writes the states of all servers whose ids are in a range, and marks servers that have no state
   * as removed.
   *
   * @param rows Rows with the column `id`, in the order of ids.
   * @param after The range begins after this id.
   * @param last The last id of the range.
   * @returns The ids that are not in the server index, or that were marked as removed.
   */
  writeStates(rows: readonly Row[], after: number, last: number): number[] {
    const missing: number[] = [];
    let slot = this.insertionSlot(after + 1);
    for (const row of rows) {
      const id = Number(row.id);
      for (; slot < this.count && this.columns.id[slot] < id; slot++) this.#remove(slot);
      const isThere = slot < this.count && this.columns.id[slot] === id;
      if (isThere && !(this.columns.bits[slot] & SERVER_BITS.removed)) {
        this.#writeState(slot, row);
      } else missing.push(id);
      if (isThere) slot++;
    }
    for (; slot < this.count && this.columns.id[slot] <= last; slot++) this.#remove(slot);
    return missing;
  }

  #remove(slot: number): void {
    this.columns.bits[slot] |= SERVER_BITS.removed;
  }
}

/** The texts of a server that are searched, in lower case. */
function textsOf(row: Row): string {
  const name = cut(row.name, MAX_NAME)?.toLowerCase() ?? "";
  const motd = cut(row.motd_plain, MAX_MOTD)?.toLowerCase() ?? "";
  const map = cut(row.map, MAX_TEXT)?.toLowerCase() ?? "";
  return `${motd.includes(name) ? "" : `${name}\0`}${motd}\0${map}`;
}

/** Whether a text that is searched is longer than its start that the server index has. */
function isCut({ name, motd_plain: motd, map, software }: Row): boolean {
  const isLonger = (value: unknown, length: number) =>
    value !== null && String(value).length > length;
  return isLonger(name, MAX_NAME) || isLonger(motd, MAX_MOTD) || isLonger(map, MAX_TEXT) ||
    isLonger(software, MAX_TEXT);
}

function cut(value: unknown, length: number): string | null {
  return value === null ? null : cutText(String(value), length);
}
