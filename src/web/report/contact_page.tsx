/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * A page for the web server of a scanning address: who scans, what is sent, and how to opt out.
 *
 * @module
 */
import type { Child } from "npm:hono@4.13.19/jsx";
import { countOf, withCommas } from "../../core/quantities.ts";
import { DEFAULT_SPEED } from "../../app/settings/mod.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { optOutMarkers } from "../../targets/shipped_lists.ts";
import { styleSheet } from "../client_files.ts";
import { Card } from "../components/blocks.tsx";
import { contactUrl } from "../components/links.ts";
import { safeText } from "../components/texts.tsx";
import contactStyle from "../style/contact.css" with { type: "text" };
import { singleFile } from "./single_file.tsx";

/** What the user says about the scans. */
export interface ContactFacts {
  /** The e-mail address, or the URL, of who answers complaints. */
  readonly contact: string;
  /** Who scans; `undefined`: the page names only the contact. */
  readonly operator: string | undefined;
  readonly purpose: string | undefined;
  /** How long results are stored. */
  readonly retention: string | undefined;
  /** Every protocol of the program, in order of rank. */
  readonly allProtocols: readonly Protocol[];
}

export function contactPage(facts: ContactFacts): string {
  return singleFile({
    title: "Scans from this address · blocksweep",
    aside: "about its scans",
    css: styleSheet() + contactStyle,
    main: (
      <>
        <h1>Scans from this address</h1>
        <p>
          This address looks for game servers, and reads the status that they publish to every
          player. If you found it in your logs, this page says what it sends, and how to make it
          stop.
        </p>
        <Who facts={facts} />
        <OptOut facts={facts} />
        <Packets facts={facts} />
        <Stored facts={facts} />
      </>
    ),
  });
}

/** A text of the user, which is isolated from the text around it. */
function Given({ text }: { text: string }) {
  return <bdi>{safeText(text, text.length)}</bdi>;
}

function Contact({ contact }: { contact: string }) {
  return (
    <a href={contactUrl(contact)}>
      <Given text={contact} />
    </a>
  );
}

function Who({ facts: { contact, operator, purpose } }: { facts: ContactFacts }) {
  return (
    <Card title="Who scans, and why">
      <ul>
        {operator !== undefined && (
          <li>
            Operator: <Given text={operator} />
          </li>
        )}
        <li>
          Contact: <Contact contact={contact} />
        </li>
        {purpose !== undefined && (
          <li>
            Purpose: <Given text={purpose} />
          </li>
        )}
      </ul>
      <p>
        The program is{" "}
        blocksweep. Its authors run no scans; only the contact above can stop this one.
      </p>
    </Card>
  );
}

function OptOut({ facts: { contact } }: { facts: ContactFacts }) {
  return (
    <Card title="How to opt out">
      <ul>
        <li>
          Write to{" "}
          <Contact contact={contact} />, and name your addresses, ranges or host names. Scans leave
          them out as soon as they are on the list, also scans that run.
        </li>
        <li>
          Or put {optOutMarkers().map((marker, i) => [i > 0 && " or ", <code>{marker}</code>])}{" "}
          into the MOTD of your server. A scan that finds it stores nothing about the server, and
          sends nothing more to any port of its address.
        </li>
        <li>
          Or turn off what replies: <code>enable-query=false</code> and{" "}
          <code>enable-status=false</code> in <code>server.properties</code>.
        </li>
      </ul>
    </Card>
  );
}

function Packets({ facts: { allProtocols } }: { facts: ContactFacts }) {
  const { rate, netRate, hostRate } = DEFAULT_SPEED;
  return (
    <Card title="What is sent, and how often">
      <p>Only what a player's game sends to show a server in its list:</p>
      <ul>
        {allProtocols.map(({ probeText }) => <li>{probeText}</li>)}
        <li>
          a request for the status to servers that replied, without a login; some scans also send
          the first packet with which a client connects (up to 1,464 bytes), and open no connection
        </li>
      </ul>
      <p>
        Pings over UDP contain the client GUID <code>626c6f636b737770</code>{" "}
        (the letters “blockswp”), and requests over HTTP the User-Agent <code>blocksweep</code>.
        {" "}
        The source address is not forged.
      </p>
      <p>
        {`Unless the operator changed the limits, one scan sends at most ${
          countOf(hostRate, "packet")
        } per second to an address, ${netRate} to a network of 256 addresses, and ${
          withCommas(rate)
        } in all.`}{" "}
        A connection over TCP counts as a packet. Known servers may be queried again later.
      </p>
      <p>
        Nothing logs in, tries passwords, tests accounts or uses a weakness of a server.
      </p>
    </Card>
  );
}

function Stored({ facts: { contact, retention } }: { facts: ContactFacts }) {
  const duration: Child = retention === undefined
    ? (
      <>
        Ask <Contact contact={contact} /> how long.
      </>
    )
    : (
      <>
        For how long: <Given text={retention} />
      </>
    );
  return (
    <Card title="What is stored">
      <p>
        The address and the port of each server that replied, the time, and what it published: its
        name, version, settings, numbers of players, and, unless the operator turned that off, the
        names of players that the server lists. Addresses that never replied are not stored.
      </p>
      <p>{duration}</p>
    </Card>
  );
}
