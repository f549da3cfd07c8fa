import { statSync } from "node:fs";
import type { ServedPage } from "@bonsai-agent/page";
import type { Session } from "@bonsai-agent/session";
import type { AppContext } from "../../call/app-context.ts";
import { shownPath } from "../../call/paths.ts";
import { writeOutput } from "../../call/session-file.ts";
import { bytes } from "../../views/numbers.ts";
import type { InteractiveContext } from "../interactive-context.ts";

/** The served page. It follows the open session, so one is enough. */
let served: Promise<ServedPage> | undefined;

/** Opens the session in the browser. The page follows the session. */
export async function openBrowserView(context: InteractiveContext): Promise<void> {
  served ??= serve(context);
  try {
    const { url, ended } = await served;
    const { openPrivately } = await import("@bonsai-agent/extension/login");
    const { isOpen, forget } = await openPrivately(url, { env: context.host.app.call.io.env });
    void ended.then(forget);
    context.notify(
      isOpen
        ? `Opened the session in the browser: ${url}`
        : `No browser could be started. Open this address on this machine: ${url}`,
    );
  } catch (error) {
    served = undefined;
    throw error;
  }
}

async function serve({ host }: InteractiveContext): Promise<ServedPage> {
  // Loads everything a page needs, so not at the start.
  const { servePage } = await import("@bonsai-agent/page");
  const { livePageSource } = await import("../../call/page-source.ts");
  const source = livePageSource(() => host.agent.session, await optionsOf(host.app));
  const page = await servePage({ source, holdsProcess: false });
  void page.ended.then(() => {
    served = undefined;
  });
  return page;
}

/** Writes the session as a page. */
export async function writePage(
  file: string,
  app: AppContext,
  session: Session,
  notify: InteractiveContext["notify"],
): Promise<void> {
  const { pageHtml, SessionPage } = await import("@bonsai-agent/page");
  writeOutput(file, pageHtml(new SessionPage(session, await optionsOf(app))));
  notify(`Wrote ${shownPath(file, app.cwd)} (${bytes(statSync(file).size)}).`);
}

async function optionsOf(app: AppContext) {
  const { pageOptions } = await import("../../call/page-source.ts");
  const { home, models, settings, call } = app;
  const { catalogue, keys } = models;
  return pageOptions({ home, env: call.io.env, catalogue, keys, settings: settings.compaction });
}
