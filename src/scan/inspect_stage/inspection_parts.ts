/**
 * What inspections need of the other parts of a scan.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import type { Shortage } from "../../net/file_descriptors.ts";
import type { Link } from "../../net/socket.ts";
import type { Switchboard } from "../../net/demultiplexer.ts";
import type { Sighting } from "../../core/record.ts";
import type { Floods } from "../../sweep/flooding_hosts.ts";
import type { Responders } from "../../sweep/responders.ts";
import type { Guard } from "../sweep_stage/suppression_passes.ts";
import type { Known } from "./known_servers.ts";
import type { LowWater } from "../checkpoint/low_water_mark.ts";
import type { OptedOut } from "./opted_out_addresses.ts";
import type { Probed } from "../sweep_stage/probed_endpoints.ts";
import type { RowQueue } from "../record_queue.ts";
import type { Stop } from "../early_stop.ts";

/** What inspections share with the rest of a scan. */
export interface InspectionParts {
  /** The sockets of the sweep. */
  readonly board: Switchboard;
  /** Opens a conversation over TCP. */
  readonly streamLink: (
    peer: Endpoint,
    protocol: string,
    connectMs: number | undefined,
  ) => Promise<Link>;
  /** What is suppressed where. */
  readonly guard: Guard;
  /** Where the sweep probes. */
  readonly probed: Probed;
  /** What servers that were known before the scan are sent. */
  readonly known: Known;
  /** Who has answered. */
  readonly responders: Responders;
  /** Who asked to be left alone. */
  readonly optedOut: OptedOut;
  /** Which hosts flood. */
  readonly floods: Floods;
  /** Where rows go. */
  readonly rows: RowQueue;
  /** Learns which sightings are through. */
  readonly lowWater: LowWater;
  /** Ends it all early. */
  readonly stop: Stop;
  /** What is known of a shortage of descriptors. */
  readonly shortage: Shortage;
  /** 63 random bits. */
  readonly nonce: () => bigint;
  /** Told of each server of which there is a row. */
  readonly onServer: (sighting: Sighting) => void;
}
