import { statSync } from "node:fs";
import { BonsaiError } from "@bonsai-agent/messages";
import type { ServedPage } from "@bonsai-agent/page";
import type { Entry, Session } from "@bonsai-agent/session";
import type { AgentHost } from "../../call/agent-host.ts";
import type { AppContext } from "../../call/app-context.ts";
import { absolutePath, shownPath } from "../../call/paths.ts";
import { forkChoice, freshChoice, isPath, namedChoice } from "../../call/session-choice.ts";
import {
  exportFormat,
  resolveEntryId,
  sessionPath,
  sessionPlace,
  writeOutput,
} from "../../call/session-file.ts";
import { bytes, counted } from "../../views/numbers.ts";
import { previewOf } from "../../views/preview.ts";
import { freeAmong } from "../../views/session-facts.ts";
import { oneLine } from "../../views/terminal-text.ts";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { askPick, askText } from "../panels/ask.ts";
import { sessionsInDatabase, sessionsInFiles } from "../panels/listed-sessions.ts";
import { pickSession } from "../panels/session-picker.ts";
import { fillEditor, sentMessage } from "../prompt/typed-message.ts";
import { mergeFlow } from "../tree/branches.ts";
import { openTree, openTreeModel, pickEntry } from "../tree/flow.ts";

export const newCommand: SlashCommand = {
  name: "new",
  description: "Start a new session",
  async run(_args, { host, notify }) {
    const hasMoved = await host.replace("new", freshChoice(host));
    if (!hasMoved) notify("An extension keeps this session open.");
  },
};

export const treeCommand: SlashCommand = {
  name: "tree",
  key: "tree",
  description: "Show the session tree and go to another entry",
  async run(_args, context) {
    await openTree(context);
  },
};

export const forkCommand: SlashCommand = {
  name: "fork",
  description: "Continue in a new session, from one of your messages or as a copy",
  async run(_args, context) {
    const { host, screen, notify } = context;
    const { session } = host.agent;
    const messages = session.path().reverse().filter(isUserMessage);
    const [latest] = messages;
    if (latest === undefined) return notify("There is no message to fork from yet.");
    const picked = await askPick<Entry | typeof WHOLE>(screen, {
      title: "Fork from which message?",
      items: [WHOLE, ...messages],
      selected: latest.id,
      key: (item) => (item === WHOLE ? item : item.id),
      row: (item) => ({ label: item === WHOLE ? item : previewOf(item) }),
      picks: "fork",
    });
    if (picked === undefined) return;
    if (picked === WHOLE) return forkWholeSession(context);
    const { id } = picked;
    const sent = sentMessage(session, id);
    if (!(await host.fork(id, forkChoice(host, id, "before"), "before")))
      return notify("An extension prevented the fork.", "warning");
    notify("This is a new session. The previous one is unchanged.");
    fillEditor(context, sent);
  },
};

const WHOLE = "Whole session, up to the latest message";

function isUserMessage(entry: Entry): boolean {
  return entry.type === "message" && entry.message.role === "user";
}

export async function forkWholeSession({ host, notify }: InteractiveContext): Promise<void> {
  const { leafId } = host.agent.session;
  if (leafId === null) return notify("This session is empty, so there is nothing to copy.");
  const isForked = await host.fork(leafId, forkChoice(host, leafId), "at");
  if (isForked) notify("This is a copy. The previous session is unchanged.");
  else notify("An extension prevented the fork.", "warning");
}

export const mergeCommand: SlashCommand = {
  name: "merge",
  description: "Summarise another branch into the current one",
  argumentHint: "[branch] [focus]",
  async run(args, context) {
    const { session } = context.host.agent;
    const name = branchName(session, args);
    const focus = args.slice(name.length).trim();
    const branchId = name === "" ? await pickBranch(context) : resolveEntryId(session, name);
    if (branchId !== undefined) await mergeFlow(context, branchId, focus === "" ? {} : { focus });
  },
};

/** The name of the branch: the longest label at the start of the text, else its first word. */
function branchName(session: Session, text: string): string {
  const labels = [...session.labels().values()].filter((label) => `${text} `.startsWith(`${label} `));
  const [longest] = labels.sort((one, other) => other.length - one.length);
  return longest ?? text.split(/\s/, 1)[0]!;
}

async function pickBranch(context: InteractiveContext): Promise<string | undefined> {
  const model = openTreeModel(context);
  if (model.rows.length === 0) {
    context.notify("There is no other branch yet.");
    return undefined;
  }
  const title = "Merge which branch? Choose its last entry.";
  const at = await pickEntry(context, model, { title, choice: "merge" });
  return at === undefined ? undefined : model.entryAt(at).id;
}

export const resumeCommand: SlashCommand = {
  name: "resume",
  description: "Open, rename or delete a session, or import a transcript",
  argumentHint: "[id|file|text]",
  async run(args, context) {
    const { host } = context;
    const named = await namedSession(args, context);
    if (named?.file !== undefined) return openNamedFile(named.file, context);
    const key = named?.id ?? (await pickListed(context, host.app, args))?.key;
    if (key !== undefined) await openListed(key, context);
  },
};

/** Lets the user pick one of the listed sessions. @param query the first text of the search */
export function pickListed(
  context: Pick<InteractiveContext, "screen" | "search" | "isOpen" | "host">,
  { call, cwd, home, database }: Pick<AppContext, "call" | "cwd" | "home" | "database">,
  query?: string,
) {
  const { screen, search } = context;
  const host = context.isOpen ? context.host : undefined;
  return pickSession({
    ...{ screen, home, cwd, now: call.io.now },
    sessions:
      database === undefined
        ? sessionsInFiles(sessionPlace(call), search)
        : sessionsInDatabase(database, home),
    ...(query !== undefined && { query }),
    ...(host && { inUse: keyOf(host.agent.session), nameInUse: (name: string) => host.setName(name) }),
  });
}

/** As `ListedSession.key`. */
function keyOf({ id, file, store }: Session): string | undefined {
  return store.durable === undefined ? file : id;
}

/** The session that a text names: a file, or the id of a shared session. Undefined for a search. @throws as `namedFile` */
async function namedSession(
  text: string,
  context: InteractiveContext,
): Promise<{ file: string; id?: undefined } | { id: string; file?: undefined } | undefined> {
  const { database } = context.host.app;
  if (database !== undefined && text !== "" && !isPath.test(text)) {
    try {
      return { id: await database.sessions.find(text) };
    } catch (error) {
      if (BonsaiError.is(error) && ["session_not_found", "session_ambiguous"].includes(error.code))
        return undefined;
      throw error;
    }
  }
  const file = namedFile(text, context);
  return file === undefined ? undefined : { file };
}

/** The session file that a text names; undefined for a search. @throws BonsaiError for a path without a file */
function namedFile(text: string, { host }: InteractiveContext): string | undefined {
  if (text === "") return undefined;
  // The completion quotes a path with spaces.
  const name = text.replace(/^"(.*)"$/, "$1");
  try {
    const path = sessionPath(name, host.app.call);
    // A word can also be a folder's name.
    return isPath.test(name) || !statSync(path).isDirectory() ? path : undefined;
  } catch (error) {
    if (isPath.test(name) || !BonsaiError.is(error)) throw error;
    return undefined;
  }
}

async function openListed(key: string, { host, notify }: InteractiveContext): Promise<void> {
  const { session } = host.agent;
  if (key === keyOf(session) && host.app.database?.isLost(session) !== true)
    notify("This session is already open.");
  else if (!(await host.replace("resume", await namedChoice(host, key))))
    notify("An extension keeps this session open.");
}

/** Opens a session file. Imports the transcript of another agent first. */
async function openNamedFile(path: string, context: InteractiveContext): Promise<void> {
  // Loads the readers of all formats, so not at the start.
  const { detectTranscript } = await import("@bonsai-agent/transcripts");
  const format = detectTranscript(path)?.format;
  if (format === undefined || format === "session") return openListed(path, context);
  const { host, notify } = context;
  const { cwd, call } = host.app;
  const { importSession } = await import("../../call/session-import.ts");
  const { file, program, entryCount, notices } = importSession({ path, place: sessionPlace(call), cwd });
  await openListed(file, context);
  const from = shownPath(path, cwd);
  notify(
    `Imported ${counted(entryCount, "entry", "entries")} of ${program} from ${from}. The file is unchanged.`,
  );
  for (const { message, count } of notices)
    notify(count === 1 ? message : `${message} (${count} times)`, "warning");
}

export const nameCommand: SlashCommand = {
  name: "name",
  description: "Name this session",
  argumentHint: "[text]",
  worksWhileBusy: true,
  async run(args, { host, screen, notify }) {
    const { sessionName } = host.agent.state;
    const typed =
      args !== ""
        ? args
        : await askText(screen, {
            title: "Session name",
            message: "Leave it empty to list the session by its first words.",
            value: sessionName ?? "",
            placeholder: "no name",
          });
    if (typed === undefined) return;
    const text = oneLine(typed);
    if (text === (sessionName ?? "")) return;
    await host.setName(text);
    notify(text === "" ? "Removed the session name." : `Session name: “${text}”.`);
  },
};

export const exportCommand: SlashCommand = {
  name: "export",
  description: "Open the session in the browser, or write it to a .md, .html or .bonsai file",
  argumentHint: "[file]",
  worksWhileBusy: true,
  async run(args, context) {
    if (args === "") return openBrowserView(context);
    const { host, notify } = context;
    const file = absolutePath(args, host.app.cwd);
    const format = exportFormat(file);
    const shown = shownPath(file, host.app.cwd);
    if (format === "bonsai") return notify(`Wrote ${shown}${await archive(host, file)}.`);
    const makeText = format === "html" ? pageText : markdownText;
    writeOutput(file, await makeText(host));
    notify(`Wrote ${shown} (${bytes(statSync(file).size)}).`);
  },
};

// The libraries of both formats are loaded when they are needed.

async function markdownText({ agent, app }: AgentHost): Promise<string> {
  const { exportMarkdown } = await import("@bonsai-agent/transcripts");
  return exportMarkdown(agent.session, {
    isFree: freeAmong([...app.models.catalogue.models, agent.model]),
    secrets: await knownSecrets(app),
  });
}

/** @returns a text about the archive */
async function archive({ agent, app }: AgentHost, file: string): Promise<string> {
  const { archiveWords, writeArchive } = await import("../../call/archive/session-archive.ts");
  const { settings, cwd } = app;
  const secrets = await knownSecrets(app);
  return archiveWords(await writeArchive({ session: agent.session, file, settings, cwd, secrets }));
}

async function knownSecrets({
  home,
  call,
  models: { catalogue, keys },
}: AgentHost["app"]): Promise<string[]> {
  const { secretsOf } = await import("../../call/catalogue.ts");
  return secretsOf({ home, env: call.io.env, catalogue, keys });
}

async function pageText({ agent, app }: AgentHost): Promise<Iterable<string>> {
  const { pageHtml, SessionPage } = await import("@bonsai-agent/page");
  const { livePageOptions } = await import("../../call/page-source.ts");
  return pageHtml(new SessionPage(agent.session, livePageOptions(app)));
}

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
  const { livePageOptions, livePageSource } = await import("../../call/page-source.ts");
  const source = livePageSource(() => host.agent.session, livePageOptions(host.app));
  const page = await servePage({ source, holdsProcess: false });
  void page.ended.then(() => {
    served = undefined;
  });
  return page;
}
