/**
 * What inspections need of the other parts of a scan.
 *
 * @module
 */
import type { Endpoint } from "../address.ts";
import type { Shortage } from "../net/descriptors.ts";
import type { Link } from "../net/socket.ts";
import type { Switchboard } from "../net/switchboard.ts";
import type { Sighting } from "../record.ts";
import type { Floods } from "../sweep/floods.ts";
import type { Responders } from "../sweep/responders.ts";
import type { Guard } from "./guard.ts";
import type { Known } from "./known.ts";
import type { LowWater } from "./low_water.ts";
import type { OptedOut } from "./opted_out.ts";
import type { Probed } from "./probed.ts";
import type { RowQueue } from "./rows.ts";
import type { Stop } from "./stop.ts";

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
