/**
 * Connects a command to the campaigns of a NATS server.
 *
 * @module
 */
import type { OptionsOf } from "../../../app/options/mod.ts";
import {
  type Broker,
  campaignEntry,
  type CampaignStatus,
  checkTopology,
  connectBroker,
  Control,
  type NatsOptions,
  NoCampaignsError,
  StatusReader,
} from "../../../campaign/mod.ts";
import { InputError } from "../../../core/errors.ts";
import { systemClock } from "../../../net/clock.ts";
import { reportError } from "../../term/console.ts";

/** The campaigns of a NATS server, until they are disposed. */
export interface OpenCampaigns extends AsyncDisposable {
  readonly broker: Broker;
  readonly control: Control;
  readonly reader: StatusReader;
}

/**
 * Connects to NATS.
 *
 * @throws InputError when there is no server, no access, or no campaign was ever submitted.
 */
export async function openCampaigns(
  options: NatsOptions & Pick<OptionsOf<"campaign list">, "allProtocols">,
): Promise<OpenCampaigns> {
  await using opening = new AsyncDisposableStack();
  const broker = opening.use(await connectBroker(options, "blocksweep campaign"));
  await checkTopology(broker);
  const control = opening.use(await Control.open(broker, reportError));
  const opened = opening.move();
  return {
    broker,
    control,
    reader: new StatusReader(broker, control, systemClock, options.allProtocols, reportError),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** What a command has read, or another value when no campaign was ever submitted. */
export async function whenSubmitted<T>(read: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof NoCampaignsError) return otherwise;
    throw error;
  }
}

/**
 * The name of a campaign that a command has to get.
 *
 * @throws InputError without a name.
 */
export function requiredName([name]: readonly string[], command: string): string {
  if (name !== undefined) return name;
  throw new InputError(`Cannot run ${command}: name a campaign; campaign list shows all`);
}

/**
 * The state of one campaign.
 *
 * @throws InputError for a name that no campaign has.
 */
export async function readCampaignStatus(
  { control, reader }: OpenCampaigns,
  name: string,
): Promise<CampaignStatus> {
  campaignEntry(control, name);
  const { campaigns: [status] } = await reader.read(name);
  return status;
}
