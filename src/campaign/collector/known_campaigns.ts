/**
 * The campaigns whose results a collector writes.
 *
 * @module
 */
import type { ReadingContext } from "../../app/options/mod.ts";
import { beginCampaignScan } from "../../store/mod.ts";
import { InputError } from "../../core/errors.ts";
import type { Clock } from "../../net/clock.ts";
import { isInList, listValue } from "../../store/database/database.ts";
import type { CampaignEntry, Control } from "../control.ts";
import { BrokerError } from "../nats/errors.ts";
import type { Broker } from "../nats/connection.ts";
import { getSpec } from "../spec.ts";
import { CollectedCampaign } from "./collected_campaign.ts";
import type { PatientDatabase } from "./patient_database.ts";

/** What {@linkcode KnownCampaigns} needs. */
export interface KnownCampaignsOptions {
  readonly broker: Broker;
  readonly control: Control;
  readonly patient: PatientDatabase;
  readonly context: ReadingContext & { readonly program: string };
  readonly downAfter: number;
  readonly clock: Pick<Clock, "now">;
  readonly report: (line: string) => void;
}

/** Pause before a campaign that cannot be used is loaded again, milliseconds. */
const RELOAD_MS = 30_000;

/** The campaigns by name. Each is loaded once, and begun in the database when it has results. */
export class KnownCampaigns {
  readonly #loaded = new Map<string, CollectedCampaign>();
  /** By name: why a campaign cannot be used, and when it was tried. */
  readonly #unusable = new Map<string, { readonly why: string; readonly triedAt: number }>();
  readonly #begun = new Set<string>();

  /** Loads nothing yet. */
  constructor(private readonly options: KnownCampaignsOptions) {}

  /**
   * Finds the campaign with a name.
   *
   * @throws Error when NATS does not reply.
   */
  async find(name: string): Promise<CollectedCampaign | "unknown" | "unusable"> {
    const entry = this.options.control.campaigns().get(name);
    if (entry === undefined) return "unknown";
    const before = this.#loaded.get(name);
    if (before?.digest === entry.spec) return before;
    const { triedAt = -Infinity } = this.#unusable.get(name) ?? {};
    if (this.options.clock.now() - triedAt < RELOAD_MS) return "unusable";
    return await this.#load(name, entry) ?? "unusable";
  }

  /** Finds the campaign with a name, and begins its scan in the database. */
  async begun(name: string): Promise<CollectedCampaign | "unknown" | "unusable"> {
    const campaign = await this.find(name);
    if (typeof campaign === "string" || this.#begun.has(campaign.scanId)) return campaign;
    const { patient } = this.options;
    await patient.run(() => beginCampaignScan(patient.database, campaign.start));
    this.#begun.add(campaign.scanId);
    return campaign;
  }

  /** The campaigns whose scans the database has, and whether each runs. */
  async inDatabase(): Promise<ReadonlyMap<CollectedCampaign, boolean>> {
    const { control, patient: { database } } = this.options;
    const campaigns: CollectedCampaign[] = [];
    for (const name of control.campaigns().keys()) {
      const campaign = await this.find(name);
      if (typeof campaign !== "string") campaigns.push(campaign);
    }
    const rows = await this.options.patient.run(() =>
      database.rows(`select uuid, state from scans where ${isInList(database, "uuid", "uuid")}`, [
        listValue(database, campaigns.map(({ scanId }) => scanId)),
      ])
    );
    const states = new Map(rows?.map(({ uuid, state }) => [String(uuid), state === "running"]));
    return new Map(campaigns.flatMap((campaign) => {
      const isRunning = states.get(campaign.scanId);
      return isRunning === undefined ? [] : [[campaign, isRunning] as const];
    }));
  }

  /** Loads a campaign; `undefined`, with a line: this program cannot use it. */
  async #load(
    name: string,
    { spec: digest, program }: CampaignEntry,
  ): Promise<CollectedCampaign | undefined> {
    const { broker, context, downAfter, report, clock } = this.options;
    try {
      const spec = await getSpec(broker, { ...context, name, digest });
      const campaign = new CollectedCampaign({ name, digest, spec }, context, downAfter);
      this.#unusable.delete(name);
      this.#loaded.set(name, campaign);
      return campaign;
    } catch (error) {
      if (error instanceof BrokerError || !(error instanceof InputError)) throw error;
      const why = error.message;
      if (this.#unusable.get(name)?.why !== why) {
        const version = program === context.program ? "" : ` of version ${program}`;
        report(
          `blocksweep: ${why}; results of campaign ${name} stay in NATS for a collector${version}; ` +
            `campaign cancel ${name} and campaign remove ${name} remove them`,
        );
      }
      this.#unusable.set(name, { why, triedAt: clock.now() });
      return undefined;
    }
  }
}
