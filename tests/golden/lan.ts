/** The golden messages of the local network. */
import { type Golden, golden } from "./golden.ts";
import l01Hex from "./lan/l01-announcement.hex" with { type: "text" };
import l01 from "./lan/l01-announcement.json" with { type: "json" };
import l02Hex from "./lan/l02-announcement-host-port.hex" with { type: "text" };
import l02 from "./lan/l02-announcement-host-port.json" with { type: "json" };
import l03Hex from "./lan/l03-announcement-no-motd.hex" with { type: "text" };
import l03 from "./lan/l03-announcement-no-motd.json" with { type: "json" };
import l04Hex from "./lan/l04-announcement-section-sign.hex" with { type: "text" };
import l04 from "./lan/l04-announcement-section-sign.json" with { type: "json" };
import l05Hex from "./lan/l05-announcement-trailing.hex" with { type: "text" };
import l05 from "./lan/l05-announcement-trailing.json" with { type: "json" };
import l06Hex from "./lan/l06-announcement-latin1.hex" with { type: "text" };
import l06 from "./lan/l06-announcement-latin1.json" with { type: "json" };
import l07Hex from "./lan/l07-announcement-motd-tag-twice.hex" with { type: "text" };
import l07 from "./lan/l07-announcement-motd-tag-twice.json" with { type: "json" };
import l08Hex from "./lan/l08-announcement-no-text.hex" with { type: "text" };
import l08 from "./lan/l08-announcement-no-text.json" with { type: "json" };
import m26Hex from "./lan/m26-announcement-bad-port.hex" with { type: "text" };
import m26 from "./lan/m26-announcement-bad-port.json" with { type: "json" };
import m27Hex from "./lan/m27-announcement-two-motd-ends.hex" with { type: "text" };
import m27 from "./lan/m27-announcement-two-motd-ends.json" with { type: "json" };
import l09Hex from "./lan/l09-announcement-no-number.hex" with { type: "text" };
import l09 from "./lan/l09-announcement-no-number.json" with { type: "json" };
import l10Hex from "./lan/l10-announcement-no-address.hex" with { type: "text" };
import l10 from "./lan/l10-announcement-no-address.json" with { type: "json" };
import n01Hex from "./lan/n01-sealed-request.hex" with { type: "text" };
import n01 from "./lan/n01-sealed-request.json" with { type: "json" };
import n02Hex from "./lan/n02-sealed-response.hex" with { type: "text" };
import n02 from "./lan/n02-sealed-response.json" with { type: "json" };
import n03Hex from "./lan/n03-sealed-noise.hex" with { type: "text" };
import n03 from "./lan/n03-sealed-noise.json" with { type: "json" };
import n04Hex from "./lan/n04-packet-request.hex" with { type: "text" };
import n04 from "./lan/n04-packet-request.json" with { type: "json" };
import n05Hex from "./lan/n05-packet-response.hex" with { type: "text" };
import n05 from "./lan/n05-packet-response.json" with { type: "json" };
import n06Hex from "./lan/n06-packet-message.hex" with { type: "text" };
import n06 from "./lan/n06-packet-message.json" with { type: "json" };
import n07Hex from "./lan/n07-packet-message-ping.hex" with { type: "text" };
import n07 from "./lan/n07-packet-message-ping.json" with { type: "json" };
import n08Hex from "./lan/n08-packet-request-older.hex" with { type: "text" };
import n08 from "./lan/n08-packet-request-older.json" with { type: "json" };
import n09Hex from "./lan/n09-packet-length-mismatch.hex" with { type: "text" };
import n09 from "./lan/n09-packet-length-mismatch.json" with { type: "json" };
import n10Hex from "./lan/n10-packet-trailing.hex" with { type: "text" };
import n10 from "./lan/n10-packet-trailing.json" with { type: "json" };
import n11Hex from "./lan/n11-packet-unknown-id.hex" with { type: "text" };
import n11 from "./lan/n11-packet-unknown-id.json" with { type: "json" };
import n12Hex from "./lan/n12-packet-response-no-hex.hex" with { type: "text" };
import n12 from "./lan/n12-packet-response-no-hex.json" with { type: "json" };
import n13Hex from "./lan/n13-packet-response-too-long.hex" with { type: "text" };
import n13 from "./lan/n13-packet-response-too-long.json" with { type: "json" };
import n14Hex from "./lan/n14-data-v4.hex" with { type: "text" };
import n14 from "./lan/n14-data-v4.json" with { type: "json" };
import n15Hex from "./lan/n15-data-v5.hex" with { type: "text" };
import n15 from "./lan/n15-data-v5.json" with { type: "json" };
import n16Hex from "./lan/n16-data-v6.hex" with { type: "text" };
import n16 from "./lan/n16-data-v6.json" with { type: "json" };
import n17Hex from "./lan/n17-data-v7.hex" with { type: "text" };
import n17 from "./lan/n17-data-v7.json" with { type: "json" };
import n18Hex from "./lan/n18-data-unknown.hex" with { type: "text" };
import n18 from "./lan/n18-data-unknown.json" with { type: "json" };
import n19Hex from "./lan/n19-data-v5-long-name.hex" with { type: "text" };
import n19 from "./lan/n19-data-v5-long-name.json" with { type: "json" };
import n20Hex from "./lan/n20-data-v5-varint-too-long.hex" with { type: "text" };
import n20 from "./lan/n20-data-v5-varint-too-long.json" with { type: "json" };
import n21Hex from "./lan/n21-data-v6-trailing.hex" with { type: "text" };
import n21 from "./lan/n21-data-v6-trailing.json" with { type: "json" };
import n22Hex from "./lan/n22-data-v4-bad-utf8.hex" with { type: "text" };
import n22 from "./lan/n22-data-v4-bad-utf8.json" with { type: "json" };

export const LAN: readonly Golden[] = [
  golden("l01-announcement", l01Hex, l01),
  golden("l02-announcement-host-port", l02Hex, l02),
  golden("l03-announcement-no-motd", l03Hex, l03),
  golden("l04-announcement-section-sign", l04Hex, l04),
  golden("l05-announcement-trailing", l05Hex, l05),
  golden("l06-announcement-latin1", l06Hex, l06),
  golden("l07-announcement-motd-tag-twice", l07Hex, l07),
  golden("l08-announcement-no-text", l08Hex, l08),
  golden("m26-announcement-bad-port", m26Hex, m26),
  golden("m27-announcement-two-motd-ends", m27Hex, m27),
  golden("l09-announcement-no-number", l09Hex, l09),
  golden("l10-announcement-no-address", l10Hex, l10),
  golden("n01-sealed-request", n01Hex, n01),
  golden("n02-sealed-response", n02Hex, n02),
  golden("n03-sealed-noise", n03Hex, n03),
  golden("n04-packet-request", n04Hex, n04),
  golden("n05-packet-response", n05Hex, n05),
  golden("n06-packet-message", n06Hex, n06),
  golden("n07-packet-message-ping", n07Hex, n07),
  golden("n08-packet-request-older", n08Hex, n08),
  golden("n09-packet-length-mismatch", n09Hex, n09),
  golden("n10-packet-trailing", n10Hex, n10),
  golden("n11-packet-unknown-id", n11Hex, n11),
  golden("n12-packet-response-no-hex", n12Hex, n12),
  golden("n13-packet-response-too-long", n13Hex, n13),
  golden("n14-data-v4", n14Hex, n14),
  golden("n15-data-v5", n15Hex, n15),
  golden("n16-data-v6", n16Hex, n16),
  golden("n17-data-v7", n17Hex, n17),
  golden("n18-data-unknown", n18Hex, n18),
  golden("n19-data-v5-long-name", n19Hex, n19),
  golden("n20-data-v5-varint-too-long", n20Hex, n20),
  golden("n21-data-v6-trailing", n21Hex, n21),
  golden("n22-data-v4-bad-utf8", n22Hex, n22),
];
