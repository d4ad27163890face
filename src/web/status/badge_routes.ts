/**
 * The routes of badges and banners. They show what the database has, and never wait for a server.
 *
 * @module
 */
import { oneOf } from "../../core/checked_values.ts";
import type { Content } from "../api/answer.ts";
import { type Operation, type Route, route, type RouteRequest } from "../api/route.ts";
import { SCHEMA_PARTS } from "../queries/schemas.ts";
import type { StatusQuery } from "../queries/dashboard_data.ts";
import { parameter } from "../queries/parameters.ts";
import { badgeFacts, shieldsDocument } from "./badge_facts.ts";
import { badgeImage, BANNER_SIZES, bannerImage, type BannerSize } from "./badge_images.tsx";
import { FRESH_S, invalidAddress, json, STATUS_ADDRESS } from "./status_answers.ts";
import type { StatusAnswer } from "./server_facts.ts";
import type { StatusAddress } from "./status_address.ts";

/** Reads the status of a server. */
export type AskStatus = (
  address: StatusAddress,
  edition: StatusQuery["edition"],
  request: RouteRequest,
  hasUptime?: boolean,
) => Promise<StatusAnswer>;

const THEME = parameter("Colours for a light or a dark page.", oneOf(["light", "dark"]));
const SIZE = parameter(
  "Width and height, pixels.",
  oneOf(Object.keys(BANNER_SIZES) as BannerSize[]),
);

const { object, text, integer } = SCHEMA_PARTS;
const SHIELDS = object({
  schemaVersion: integer,
  label: text,
  message: text,
  color: text,
  cacheSeconds: integer,
});

/** The routes for an edition. */
export function badgeRoutes(edition: StatusQuery["edition"], ask: AskStatus): readonly Route[] {
  const prefix = edition === "java" ? "" : "/bedrock";
  const name = edition === "java" ? "Java" : "Bedrock";
  const image = (what: string): Operation => ({
    summary: `A ${what} of a ${name} server.`,
    contentType: "image/svg+xml",
    schema: { type: "string" },
    description: "An SVG image.",
  });
  return [
    route({
      path: `${prefix}/shields/{address}`,
      pathParameters: { address: STATUS_ADDRESS },
      operation: {
        summary: `A ${name} server for the endpoint badge of shields.io.`,
        schema: SHIELDS,
        description: "The document of the endpoint.",
      },
      respond: async ({ address }, request) =>
        address === null
          ? invalidAddress()
          : json(shieldsDocument(badgeFacts(await ask(address, edition, request)), FRESH_S)),
    }),
    route({
      path: `${prefix}/badge/{address}`,
      pathParameters: { address: STATUS_ADDRESS },
      parameters: { theme: THEME },
      operation: image("badge of 20 px"),
      respond: async ({ address, theme = "light" }, request) =>
        address === null
          ? invalidAddress()
          : svg(badgeImage(badgeFacts(await ask(address, edition, request)), theme)),
    }),
    route({
      path: `${prefix}/banner/{address}`,
      pathParameters: { address: STATUS_ADDRESS },
      parameters: { theme: THEME, size: SIZE },
      operation: image("banner"),
      respond: async ({ address, theme = "light", size = "468x60" }, request) => {
        if (address === null) return invalidAddress();
        const answer = await ask(address, edition, request, true);
        return svg(bannerImage(answer, badgeFacts(answer), size, theme));
      },
    }),
  ];
}

function svg(body: string): Content {
  return {
    contentType: "image/svg+xml;charset=utf-8",
    body,
    cached: FRESH_S,
    headers: {
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    },
  };
}
