/**
 * Worlds on the local network: announcements of Java worlds, and the datagrams of NetherNet's
 * discovery, which Bedrock worlds reply to.
 *
 * @module
 */
export {
  type Announcement,
  decodeAnnouncement,
  encodeAnnouncement,
} from "../../protocols/lan/announcement.ts";
export { ANNOUNCEMENT_GROUPS } from "../../protocols/lan/discovery_facts.ts";
export {
  DISCOVERY_PORT,
  type NethernetPacket,
  type NewPacket,
  openPacket,
  type PacketBody,
  sealPacket,
} from "../../protocols/nethernet/discovery.ts";
export {
  decodeServerData,
  encodeServerData,
  type ServerData,
  type World,
} from "../../protocols/nethernet/discovery_server_data.ts";
