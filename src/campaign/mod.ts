/**
 * Scans on many machines, which NATS connects.
 *
 * @module
 */
export { type CampaignEntry, Control } from "./control.ts";
export { MAX_TRIES } from "./lease_value.ts";
export type { StoredWorker } from "./stored_leases.ts";
export { cancelParts } from "./change/cancel_parts.ts";
export {
  type CampaignChange,
  campaignEntry,
  changeState,
  removeCampaign,
  retryPoisoned,
} from "./change/change_campaign.ts";
export { collect } from "./collector/collect.ts";
export { type Broker, connectBroker, type NatsOptions } from "./nats/connection.ts";
export { brokerError } from "./nats/errors.ts";
export { checkTopology, NoCampaignsError } from "./nats/topology.ts";
export {
  type CollectorStatus,
  type ResultsStatus,
  StatusReader,
  type SystemStatus,
} from "./status/read_status.ts";
export type { CampaignStatus, PartStatus } from "./status/status.ts";
export { prepareCampaign, type PreparedCampaign } from "./submit/prepare_campaign.ts";
export { submitCampaign, type Submitted } from "./submit/submit.ts";
export { work } from "./worker/work.ts";
