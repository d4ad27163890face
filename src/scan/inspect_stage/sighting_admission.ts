/**
 * Decides which sightings are queued for interviews. Sightings with an opt-out are not queued.
 * Sightings without a hold are queued when a hold is free.
 *
 * @module
 */
import type { Sighting } from "../../core/record.ts";
import { reclassify, type SightingIntake } from "../../sweep/mod.ts";
import type { DiscoveredServers } from "../tables/discovered_servers.ts";
import type { OptOutRecorder } from "../tables/opt_out_recorder.ts";
import type { ScanState } from "../setup/scan_state.ts";
import type { ScanTables } from "../tables/scan_tables.ts";
import type { SightingQueue } from "./sighting_queue.ts";
import { omit, reasonToSkip } from "./skipped_sightings.ts";

/** Passes the sightings of the sweep to the queue. */
export class SightingAdmission implements SightingIntake {
  /**
   * Passes sightings to a queue.
   *
   * @param state The state that counts replies.
   * @param optOuts Records sightings with an opt-out. They are not queued.
   * @param found Collects the servers that an adaptive scan finds. Default: nothing does.
   */
  constructor(
    private readonly queue: Pick<SightingQueue, "add">,
    private readonly tables: Pick<
      ScanTables,
      "lowWater" | "responders" | "optedOut" | "suppression" | "stop"
    >,
    private readonly state: Pick<ScanState, "replies" | "omittedAt">,
    private readonly optOuts: Pick<OptOutRecorder, "search" | "recordWhenSaved">,
    private readonly found?: Pick<DiscoveredServers, "add">,
  ) {}

  /** Queues the sighting of an endpoint, or records its opt-out. */
  push(sighting: Sighting, onFinished: () => void = this.tables.lowWater.begin()): void {
    if (sighting.verified) this.found?.add(sighting);
    const firstReply = this.optOuts.search(sighting);
    if (firstReply === "optOut") {
      return this.optOuts.recordWhenSaved(sighting.endpoint.address, onFinished);
    }
    this.queue.add({ sighting, firstReply, onFinished });
  }

  /**
   * Queues a sighting as soon as a hold is free for it. Until then the low-water mark stays before
   * the sighting, and a resumed scan would probe the endpoint again.
   */
  pushWhenHeld(sighting: Sighting): void {
    const { endpoint } = sighting;
    const { responders, lowWater } = this.tables;
    const onFinished = lowWater.begin();
    responders.wait({
      endpoint,
      admit: () => this.push(sighting, onFinished),
      cancel: () => {
        const why = reasonToSkip(sighting, this.tables);
        if (why === "cut") return;
        if (responders.has(endpoint)) reclassify(this.state.replies, "duplicate");
        else if (why === undefined) omit(sighting, this.state);
        else reclassify(this.state.replies, "forged");
        onFinished();
      },
    });
  }
}
