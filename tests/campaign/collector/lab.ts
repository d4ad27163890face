/** A campaign on a NATS server of a test, with the messages of its workers, and a collector. */
import { collect, type CollectOptions } from "../../../src/campaign/collector/collect.ts";
import { Control } from "../../../src/campaign/control.ts";
import { formatLeaseValue, type LeaseValue, UNTAKEN } from "../../../src/campaign/lease_value.ts";
import {
  campaignKey,
  CONTROL_BUCKET,
  LEASE_BUCKET,
  leaseKey,
  resultConsumer,
  type ResultKind,
  RESULTS,
  resultSubject,
} from "../../../src/campaign/names.ts";
import { type Broker, connectBroker } from "../../../src/campaign/nats/connection.ts";
import { ensureTopology } from "../../../src/campaign/nats/topology.ts";
import { formatPartEnd, type PartEnd, rowMessages } from "../../../src/campaign/results.ts";
import { formatSpec, putSpec, type Spec, specDigest } from "../../../src/campaign/spec.ts";
import { dashed } from "../../../src/app/options/option.ts";
import { readOptions } from "../../../src/app/options/read_options.ts";
import { orderDigest } from "../../../src/app/resume/scan_configuration.ts";
import { scanChoice } from "../../../src/app/scan/scan_choice.ts";
import { newScanId } from "../../../src/app/system_random.ts";
import { composeTargets, findTargets } from "../../../src/app/targets/find_targets.ts";
import { emptyRecord, type RecordWithAttachments } from "../../../src/core/record.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { START } from "../../../src/scan/setup/low_water_mark.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { readCollectorIdentity } from "../../../src/store/parts/campaign_scan.ts";
import { connect, postgresTest, SERVER, withPostgres } from "../../store/databases.ts";
import { type NatsServer, natsTest, startNats, until } from "../nats_server.ts";
import type { Register } from "../../long.ts";

/** The version of the program. */
export const PROGRAM = "9.8.7";
/** The name of the usual campaign. */
export const NAME = "lab";
/** The identity of its scan. */
export const ID = newScanId(Date.now() - 30_000);
/** Its targets, in two networks: without a seed, 10.0.0.0/24 is part 1, and 10.0.1.0/24 part 2. */
const TARGETS = "10.0.0.0/23";

/** A collector that runs. */
export interface RunningCollector {
  /** The lines that it has reported. */
  readonly lines: readonly string[];
  /** Ends it, and waits. */
  readonly stop: () => Promise<void>;
  /** Resolves when it has ended by itself. */
  readonly ended: Promise<void>;
}

/** A NATS server, and a database. */
export interface Lab {
  readonly server: NatsServer;
  readonly broker: Broker;
  readonly control: Control;
  readonly database: Database;
  readonly folder: string;
  /** The consumer of the database. */
  readonly consumer: string;
  submit(more?: Partial<Spec> & { readonly name?: string }): Promise<void>;
  /** Publishes rows as a worker does. */
  rows(part: number, records: readonly RecordWithAttachments[], campaign?: string): Promise<void>;
  publish(part: number, kind: ResultKind, payload: string, campaign?: string): Promise<void>;
  end(
    part: number,
    kind: "done" | "poisoned" | "cancelled",
    more?: Partial<PartEnd>,
  ): Promise<void>;
  lease(part: number, value: Partial<LeaseValue>): Promise<void>;
  collector(options?: Partial<CollectOptions>, program?: string): RunningCollector;
  /** Number of messages with results that wait for a collector or for its acknowledgement. */
  waiting(): Promise<number>;
}

/** A row of the usual campaign. */
export function row(
  host: number,
  more: Partial<RecordWithAttachments> = {},
): RecordWithAttachments {
  return {
    ...emptyRecord({ address: host, port: 25565 }, Date.now()),
    ...{ protocol: "slp", protocols: ["slp"], scan_id: ID, motd: "hello" },
    ...more,
  };
}

/** The end of a part. */
export function partEnd(more: Partial<PartEnd> = {}): PartEnd {
  return {
    ...{ form: 1, worker: "w1", tries: 1, packetLoss: null },
    counters: { sent: 256, replies: 2, found: 1, position: 256, total: 256 },
    coverage: {
      ...{ flooding: [], disturbed: [], interviewsDisturbed: false, omitted: false, excluded: [] },
    },
    ...more,
  };
}

const context = { program: PROGRAM, allProtocols: PROTOCOLS, nameOf: dashed, note: () => {} };

async function specOf(more: Partial<Spec>): Promise<Spec> {
  const given = new Map([["protocol", ["slp"]], ["no-randomize", ["true"]]]);
  const words = [TARGETS];
  const input = { words, files: [], exclude: [], excludeFiles: [] };
  const found = await findTargets(input, {
    ...{ resolve: () => Promise.reject(new Error("no names")), allowPrivate: false },
    ...{ findService: undefined, note: () => {} },
  });
  const choice = scanChoice(readOptions("scan", { words, given }, context), () => 1, START);
  const order = orderDigest(composeTargets(found, []).targets, choice);
  return {
    ...{ program: PROGRAM, name: NAME, submittedAt: 5000, parts: 2, maxRunning: 2, rate: null },
    ackWaitMs: 1000,
    configuration: { scanId: ID, given: { words, given }, found, responders: [], order },
    ...more,
  };
}

async function openLab(
  opened: Pick<Lab, "server" | "broker" | "control" | "database" | "folder">,
  location: string,
  end: AbortSignal,
): Promise<Lab> {
  const { broker, control, database, folder } = opened;
  let published = 0;
  const lab: Lab = {
    ...opened,
    consumer: resultConsumer(await readCollectorIdentity(database)),
    async submit(more = {}) {
      const spec = await specOf(more);
      const text = formatSpec(spec);
      await putSpec(broker, spec.name, text);
      const { program, parts, submittedAt, configuration: { order } } = spec;
      const entry = {
        state: "running",
        program,
        parts,
        submittedAt,
        order,
        spec: specDigest(text),
      };
      const bucket = await broker.bucket(CONTROL_BUCKET);
      await bucket.put(campaignKey(spec.name), JSON.stringify(entry));
      await until(() => control.campaigns().has(spec.name));
    },
    async rows(part, records, campaign) {
      for (const { bytes } of rowMessages(records)) {
        await lab.publish(part, "rows", new TextDecoder().decode(bytes), campaign);
      }
    },
    async publish(part, kind, payload, campaign = NAME) {
      const msgID = `${campaign}:${++published}`;
      await broker.js.publish(resultSubject(campaign, part, kind), payload, { msgID });
    },
    end: (part, kind, more) => lab.publish(part, kind, formatPartEnd(partEnd(more))),
    async lease(part, value) {
      const bucket = await broker.bucket(LEASE_BUCKET);
      const usual = { ...UNTAKEN, worker: "w1", at: Date.now() };
      await bucket.put(leaseKey(NAME, part), formatLeaseValue({ ...usual, ...value }));
    },
    collector(options = {}, program = PROGRAM) {
      const lines: string[] = [];
      const ending = new AbortController();
      const stop = async () => {
        ending.abort();
        await ended;
      };
      const usual = readOptions("campaign collect", { words: [], given: new Map() }, context);
      const given = { output: location, nats: broker.urls, optOutFile: `${folder}/out.txt` };
      const ended = collect(
        { ...usual, ...given, everyMs: 20, ...options },
        {
          ...context,
          program,
          warn: (line) => {
            lines.push(line);
          },
        },
        AbortSignal.any([ending.signal, end]),
      );
      return { lines, ended, stop };
    },
    waiting: async () => {
      const { streams, consumers } = broker.jsm;
      const infos = await Array.fromAsync(consumers.list(RESULTS));
      if (infos.length === 0) return (await streams.info(RESULTS)).state.messages;
      return infos.reduce((sum, info) => sum + info.num_pending + info.num_ack_pending, 0);
    },
  };
  return lab;
}

async function withLab(
  location: string,
  folder: string,
  open: () => Promise<Database>,
  use: (lab: Lab) => Promise<void>,
): Promise<void> {
  await using server = await startNats();
  await using broker = await connectBroker({ nats: server.url }, "test");
  await ensureTopology(broker, { replicas: 1, resultsLimit: 2 ** 28 });
  await using control = await Control.open(broker, () => {});
  await using database = await open();
  await createTables(database);
  const end = new AbortController();
  try {
    await use(await openLab({ server, broker, control, database, folder }, location, end.signal));
  } finally {
    end.abort();
  }
}

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Registers a test of collectors for each engine. It is ignored where a server is missing. */
export function collectorTest(
  name: string,
  use: (lab: Lab) => Promise<void>,
  register: Register = Deno.test,
): void {
  const withSqlite = () =>
    inFolder((folder) => {
      const path = `${folder}/servers.db`;
      return withLab(path, folder, () => Promise.resolve(openSqlite(path)), use);
    });
  natsTest(`SQLite: ${name}`, withSqlite, register);
  if (SERVER === undefined) {
    postgresTest(`PostgreSQL: ${name}`, () => Promise.resolve());
    return;
  }
  natsTest(
    `PostgreSQL: ${name}`,
    () =>
      inFolder((folder) =>
        withPostgres(SERVER!, (url) => withLab(url, folder, () => connect(url), use))
      ),
  );
}
