import { statSync } from "node:fs";
import { bytes, counted } from "@bonsai-agent/app/numbers";
import { absolutePath, shownPath } from "@bonsai-agent/app/paths";
import { forkChoice, freshChoice, namedChoice } from "@bonsai-agent/app/session-choice";
import { freeAmong } from "@bonsai-agent/app/session-facts";
import {
  exportFormat,
  resolveEntryId,
  sessionPath,
  sessionPlace,
  writeOutput,
} from "@bonsai-agent/app/session-file";
import { oneLine } from "@bonsai-agent/app/terminal-text";
import { BonsaiError } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { askText } from "../panels/ask.ts";
import { pickSession } from "../panels/session-picker.ts";
import { fillEditor, sentMessage } from "../prompt/typed-message.ts";
import { mergeFlow } from "../tree/branches.ts";
import { askLabel, openTree, openTreeModel, pickEntry, writeLabel } from "../tree/tree-navigation.ts";
import { isWork } from "../tree/tree-search.ts";

export const newCommand: SlashCommand = {
  name: "new",
  description: "Begin a new session",
  async run(_args, { host, notify }) {
    const hasMoved = await host.replace("new", freshChoice(host));
    if (!hasMoved) notify("An extension keeps this session open.");
  },
};

export const treeCommand: SlashCommand = {
  name: "tree",
  description: "Go to another place in the session's tree",
  async run(_args, context) {
    await openTree(context);
  },
};

export const forkCommand: SlashCommand = {
  name: "fork",
  description: "Go on in a new session from one of your messages",
  async run(_args, context) {
    const { host, notify } = context;
    const model = openTreeModel(context, "user only");
    if (model.rows.length === 0) return notify("There is no message to fork from yet.");
    const title = "Fork: which message is written anew?";
    const at = await pickEntry(context, model, { title, choice: "fork", canLabel: false });
    if (at === undefined) return;
    const { id } = model.entryAt(at);
    const sent = sentMessage(host.agent.session, id);
    if (!(await host.fork(id, forkChoice(host, id, "before"), "before")))
      return notify("An extension did not let the session be forked.", "warning");
    notify("This is a new session; the one before stays as it is.");
    fillEditor(context, sent);
  },
};

export const mergeCommand: SlashCommand = {
  name: "merge",
  description:
    "Bring the outcome of another branch here, as a summary; without a branch, pick one in the tree",
  argumentHint: "[branch] [focus]",
  async run(args, context) {
    const { session } = context.host.agent;
    const name = branchName(session, args);
    const focus = args.slice(name.length).trim();
    const branchId = name === "" ? await pickBranch(context) : resolveEntryId(session, name);
    if (branchId !== undefined) await mergeFlow(context, branchId, focus === "" ? {} : { focus });
  },
};

/** What names the branch: the longest label that the text begins with, else its first word. */
function branchName(session: Session, text: string): string {
  const labels = [...session.labels().values()].filter((label) => `${text} `.startsWith(`${label} `));
  const [longest] = labels.sort((one, other) => other.length - one.length);
  return longest ?? text.split(/\s/, 1)[0]!;
}

async function pickBranch(context: InteractiveContext): Promise<string | undefined> {
  const model = openTreeModel(context, "default");
  if (model.rows.length === 0) {
    context.notify("There is no other branch yet.");
    return undefined;
  }
  const title = "Merge: where does the branch end?";
  const at = await pickEntry(context, model, { title, choice: "merge" });
  return at === undefined ? undefined : model.entryAt(at).id;
}

export const cloneCommand: SlashCommand = {
  name: "clone",
  description: "Go on in a copy of this session",
  async run(_args, { host, notify }) {
    const { leafId } = host.agent.session;
    if (leafId === null) return notify("There is nothing to copy yet.");
    const copied = await host.fork(leafId, forkChoice(host, leafId), "at");
    if (copied) notify("This is a copy; the session before stays as it is.");
    else notify("An extension did not let the session be copied.", "warning");
  },
};

export const labelCommand: SlashCommand = {
  name: "label",
  description: "Label the latest message, to find it in the tree; without a text, asks for it",
  argumentHint: "[text]",
  async run(text, context) {
    const { session } = context.host.agent;
    // More than a note about other entries.
    const id = session.path().findLast(isWork)?.id;
    if (id === undefined) return context.notify("There is no message to label yet.");
    const given =
      text === "" ? await askLabel(context, id, session.label(id)) : writeLabel(context, id, text);
    if (given === undefined) return;
    context.notify(
      given === "" ? "The latest message has no label now." : `The latest message is labelled [${given}].`,
    );
  },
};

export const resumeCommand: SlashCommand = {
  name: "resume",
  description: "Open another session: search, name and delete them",
  argumentHint: "[id, file or text]",
  async run(args, context) {
    const { host, screen, search } = context;
    const { cwd, call } = host.app;
    const pick = () =>
      pickSession({
        ...{ screen, search, place: sessionPlace(call), cwd, inUse: host.agent.session.file, query: args },
        now: () => call.io.now(),
        nameInUse: (name) => host.setName(name),
      });
    const file = namedFile(args, context) ?? (await pick())?.file;
    if (file !== undefined) await openFile(file, context);
  },
};

/** What can only be meant as a path. */
const isPath = /[/\\]|\.jsonl$/;

/** The session that a text names; undefined where it is text to look for. @throws BonsaiError of a path without a file */
function namedFile(text: string, { host }: InteractiveContext): string | undefined {
  if (text === "") return undefined;
  try {
    const path = sessionPath(text, host.app.call);
    // A word can be the name of a folder by chance.
    return isPath.test(text) || !statSync(path).isDirectory() ? path : undefined;
  } catch (error) {
    if (isPath.test(text) || !BonsaiError.is(error)) throw error;
    return undefined;
  }
}

async function openFile(file: string, { host, notify }: InteractiveContext): Promise<void> {
  if (file === host.agent.session.file) notify("This is the session that is open.");
  else if (!(await host.replace("resume", namedChoice(host, file)))) notify("The session was not left.");
}

export const importCommand: SlashCommand = {
  name: "import",
  description: "Make a session of another agent's transcript, or of a session file, and open it",
  argumentHint: "file",
  takesPath: true,
  async run(args, context) {
    const { host, notify } = context;
    const { cwd, call } = host.app;
    if (args === "") return notify("Which file? /import PATH, a transcript or a session.", "warning");
    const path = absolutePath(args, cwd);
    // With it come the readers of all formats, which no start needs.
    const { importSession } = await import("@bonsai-agent/app/session-import");
    const { file, program, entryCount, notices } = importSession({ path, place: sessionPlace(call), cwd });
    await openFile(file, context);
    notify(
      `Imported ${counted(entryCount, "entry", "entries")} of ${program}; ${shownPath(path, cwd)} stays as it is.`,
    );
    for (const { message, count } of notices)
      notify(count === 1 ? message : `${message} (${count} times)`, "warning");
  },
};

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
            title: "Name of this session",
            message: "Without a text, it goes by its first words.",
            value: sessionName ?? "",
            placeholder: "no name",
          });
    if (typed === undefined) return;
    const text = oneLine(typed);
    if (text === (sessionName ?? "")) return;
    await host.setName(text);
    notify(text === "" ? "This session has no name now." : `This session is called “${text}” now.`);
  },
};

export const exportCommand: SlashCommand = {
  name: "export",
  description: "Write the session as Markdown, or as a page where the file ends in .html",
  argumentHint: "[file]",
  worksWhileBusy: true,
  async run(args, { host, notify }) {
    const { session, model } = host.agent;
    const { cwd, models, home, call } = host.app;
    const file = absolutePath(args === "" ? `bonsai-${session.id.slice(0, 8)}.md` : args, cwd);
    if (exportFormat(file) === "html") {
      const { writePage } = await import("./view.ts");
      return writePage(file, host.app, session, notify);
    }
    // With it comes a parser of Markdown, which no start needs.
    const { exportMarkdown } = await import("@bonsai-agent/transcripts");
    const { secretsOf } = await import("@bonsai-agent/app/page-source");
    const text = exportMarkdown(session, {
      isFree: freeAmong([...models.catalogue.models, model]),
      secrets: secretsOf({ home, env: call.io.env, catalogue: models.catalogue }),
    });
    writeOutput(file, text);
    const size = bytes(Buffer.byteLength(text));
    notify(`Written to ${shownPath(file, cwd)}, ${size}`);
  },
};
