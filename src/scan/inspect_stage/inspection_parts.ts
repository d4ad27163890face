/**
 * What inspections need of the other parts of a scan.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import type { Shortage } from "../../net/file_descriptors.ts";
import type { Link } from "../../net/socket.ts";
import type { Demultiplexer } from "../../net/demultiplexer.ts";
import type { Sighting } from "../../core/record.ts";
import type { FloodingHosts } from "../../sweep/flooding_hosts.ts";
import type { Responders } from "../../sweep/responders.ts";
import type { SuppressionPasses } from "../sweep_stage/suppression_passes.ts";
import type { KnownServerInterviews } from "./known_servers.ts";
import type { LowWaterMark } from "../checkpoint/low_water_mark.ts";
import type { OptedOutAddresses } from "./opted_out_addresses.ts";
import type { ProbedEndpoints } from "../sweep_stage/probed_endpoints.ts";
import type { RecordQueue } from "../record_queue.ts";
import type { EarlyStop } from "../early_stop.ts";

/** What inspections share with the rest of a scan. */
export interface InspectStageParts {
  /** The sockets of the sweep. */
  readonly board: Demultiplexer;
  /** Opens a conversation over TCP. */
  readonly streamLink: (
    peer: Endpoint,
    protocol: string,
    connectMs: number | undefined,
  ) => Promise<Link>;
  /** What is suppressed where. */
  readonly guard: SuppressionPasses;
  /** Where the sweep probes. */
  readonly probed: ProbedEndpoints;
  /** What servers that were known before the scan are sent. */
  readonly known: KnownServerInterviews;
  /** Who has answered. */
  readonly responders: Responders;
  /** Who asked to be left alone. */
  readonly optedOut: OptedOutAddresses;
  /** Which hosts flood. */
  readonly floods: FloodingHosts;
  /** Where rows go. */
  readonly rows: RecordQueue;
  /** Learns which sightings are through. */
  readonly lowWater: LowWaterMark;
  /** Ends it all early. */
  readonly stop: EarlyStop;
  /** What is known of a shortage of descriptors. */
  readonly shortage: Shortage;
  /** 63 random bits. */
  readonly nonce: () => bigint;
  /** Told of each server of which there is a row. */
  readonly onServer: (sighting: Sighting) => void;
}
