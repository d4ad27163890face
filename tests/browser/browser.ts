/** Debian's Chromium, and visits to pages, which collect every problem of a page. */
import { assertEquals } from "@std/assert";
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";

/** No request leaves the machine: host names do not resolve, and the browser updates nothing. */
const ARGUMENTS = [
  ...["--no-sandbox", "--disable-background-networking", "--disable-component-update"],
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];
/** Maximum duration of a step, milliseconds. A busy machine needs seconds. */
const DEADLINE_MS = 60_000;
/** The folder for screenshots: that of the environment variable, otherwise none are made. */
const SCREENSHOTS = Deno.env.get("BLOCKSWEEP_SCREENSHOTS");

/** How a page is looked at. */
export interface Look {
  readonly width: 1280 | 390;
  readonly colorScheme: "light" | "dark";
  /** Whether the browser runs no scripts. axe-core cannot run there either. */
  readonly withoutScripts?: boolean;
  /** Default: UTC. */
  readonly timezoneId?: string;
}

/** Wide and narrow, light and dark. */
export const LOOKS: readonly Look[] = ([1280, 390] as const).flatMap((width) =>
  (["light", "dark"] as const).map((colorScheme) => ({ width, colorScheme }))
);

/** The path of `chromium`, which is found as a shell finds it. */
async function chromiumPath(): Promise<string> {
  const { stdout } = await new Deno.Command("sh", { args: ["-c", "command -v chromium"] }).output();
  const path = new TextDecoder().decode(stdout).trim();
  if (path === "") throw new Error("Cannot find chromium: install Debian's package chromium");
  return path;
}

/** Runs a test with a browser. */
export async function withBrowser(test: (browser: Browser) => Promise<void>): Promise<void> {
  const browser = await chromium.launch({
    executablePath: await chromiumPath(),
    args: ARGUMENTS,
    timeout: DEADLINE_MS,
  });
  try {
    await test(browser);
  } finally {
    await browser.close();
  }
}

/**
 * Visits to pages of one origin in a window. Every message on the console that is an error or a
 * warning, uncaught error, dialog, request to another origin, and violation of the content policy is
 * a problem.
 */
export class Visit {
  /** The window. */
  readonly page: Page;
  readonly #look: Look;
  readonly #problems: string[] = [];

  private constructor(page: Page, look: Look) {
    [this.page, this.#look] = [page, look];
  }

  /** Opens a window. */
  static async start(
    browser: Browser,
    origin: string,
    look: Look = LOOKS[0],
  ): Promise<Visit> {
    const context = await browser.newContext({
      ...{ viewport: { width: look.width, height: 1200 }, colorScheme: look.colorScheme },
      ...{ reducedMotion: "reduce", locale: "en-US", baseURL: origin },
      timezoneId: look.timezoneId ?? "UTC",
      javaScriptEnabled: !look.withoutScripts,
    });
    context.setDefaultTimeout(DEADLINE_MS);
    const page = await context.newPage();
    const visit = new Visit(page, look);
    const { pathname } = new URL(origin); // of a file
    const isOwn = (url: string) =>
      url.startsWith("file:") ? new URL(url).pathname === pathname : url.startsWith(`${origin}/`);
    await visit.#listen((url) => isOwn(url) || /^(?:data|blob):/.test(url));
    return visit;
  }

  async #listen(isOwn: (url: string) => boolean): Promise<void> {
    const { page } = this;
    const add = (problem: string) => void this.#problems.push(problem);
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) add(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => add(`uncaught error: ${error}`));
    page.on("dialog", (dialog) => {
      add(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.context().on("request", (request) => {
      if (!isOwn(request.url())) add(`request: ${request.url()}`);
    });
    await page.context().exposeFunction("addViolation", (text: string) => add(text));
    await page.addInitScript(() => {
      addEventListener("securitypolicyviolation", (event) => {
        const { violatedDirective, blockedURI, sample } = event;
        const text = `policy: ${violatedDirective} ${blockedURI} ${sample}`;
        (globalThis as unknown as { addViolation(text: string): void }).addViolation(text);
      });
    });
  }

  /** Opens a page, and checks it. */
  async open(path: string, status = 200): Promise<void> {
    assertEquals(await this.faultsAt(path, status), []);
  }

  /** Opens a page, and returns its faults. */
  async faultsAt(path: string, status = 200): Promise<string[]> {
    const before = this.#problems.length;
    let response = await this.page.goto(path, { waitUntil: "load" });
    // If a busy machine answers late, the dashboard asks to try again.
    for (let tries = 1; response?.status() === 503 && status !== 503 && tries < 5; tries++) {
      this.#problems.length = before;
      response = await this.page.goto(path, { waitUntil: "load" });
    }
    if (!path.startsWith("file:")) assertEquals(response?.status(), status, path);
    return await this.faults();
  }

  /** Clicks a link, and waits for its page. */
  async follow(link: ReturnType<Page["locator"]>): Promise<void> {
    const url = this.page.url();
    await link.click();
    await this.page.waitForURL((now) => now.href !== url, { waitUntil: "load" });
  }

  /** Fails if {@linkcode faults} finds any. */
  async check(): Promise<void> {
    assertEquals(await this.faults(), []);
  }

  /**
   * The problems until now, whether the window or a list of servers scrolls sideways, and the serious
   * and critical violations that axe finds.
   */
  async faults(): Promise<string[]> {
    const { page } = this;
    const hidden = await page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      return scrollWidth - clientWidth;
    });
    const faults = hidden > 0 ? [`${hidden} pixels are to the right of the window`] : [];
    const cut = await page.locator(".scroll:has(> .servers)").evaluateAll((tables) =>
      tables.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length
    );
    if (cut > 0) faults.push(`columns of ${cut} lists of servers are cut`);
    if (!this.#look.withoutScripts) faults.push(...await this.#inaccessible());
    await this.#photograph();
    faults.unshift(...this.#problems.splice(0));
    const { width, colorScheme } = this.#look;
    return faults.map((fault) => `${page.url()} (${width}, ${colorScheme}): ${fault}`);
  }

  /** The violations that axe finds. */
  async #inaccessible(): Promise<string[]> {
    await this.page.evaluate(axe.source);
    const { violations } = await this.page.evaluate(() =>
      (globalThis as unknown as { axe: typeof axe }).axe.run(document, {
        resultTypes: ["violations"],
      })
    );
    return violations.filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`)
      );
  }

  async #photograph(): Promise<void> {
    if (SCREENSHOTS === undefined) return;
    const { width, colorScheme } = this.#look;
    const { pathname, search } = new URL(this.page.url());
    const name = `${pathname}${search}`.replace(/[^\w]+/g, "-").slice(0, 80);
    const path = `${SCREENSHOTS}/${width}-${colorScheme}${name}.png`;
    await this.page.screenshot({ path, fullPage: true });
  }

  /** Closes the window. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
  }
}
