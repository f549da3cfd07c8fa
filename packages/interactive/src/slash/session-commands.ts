import { bytes } from "@bonsai-agent/app/numbers";
import { absolutePath, shownPath } from "@bonsai-agent/app/paths";
import { forkChoice, freshChoice, namedChoice } from "@bonsai-agent/app/session-choice";
import { writeOutput } from "@bonsai-agent/app/session-file";
import { oneLine } from "@bonsai-agent/app/terminal-text";
import type { Session } from "@bonsai-agent/session";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { askText } from "../panels/ask.ts";
import { pickSession } from "../panels/session-picker.ts";
import { fillEditor, sentMessage } from "../prompt/typed-message.ts";
import { labelEntry, openTree, openTreeModel, pickEntry, writeLabel } from "../tree/tree-navigation.ts";
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
  run: (_args, context) => openTree(context),
};

export const forkCommand: SlashCommand = {
  name: "fork",
  description: "Go on in a new session from one of your messages",
  run: (_args, context) => forkSession(context),
};

async function forkSession(context: InteractiveContext): Promise<void> {
  const { host, notify } = context;
  const model = openTreeModel(context, "user only");
  if (model.rows.length === 0) {
    notify("There is no message to fork from yet.");
    return;
  }
  const at = await pickEntry(context, model, {
    title: "Fork: which message is written anew?",
    choice: "fork",
    canLabel: false,
  });
  if (at === undefined) return;
  const { id } = model.entryAt(at);
  const sent = sentMessage(host.agent.session, id);
  if (!(await host.fork(id, forkChoice(host, id, "before"), "before"))) {
    notify("An extension did not let the session be forked.", "warning");
    return;
  }
  notify("This is a new session; the one before stays as it is.");
  fillEditor(context, sent);
}

export const cloneCommand: SlashCommand = {
  name: "clone",
  description: "Go on in a copy of this session",
  run: (_args, context) => cloneSession(context),
};

async function cloneSession({ host, notify }: InteractiveContext): Promise<void> {
  const { leafId } = host.agent.session;
  if (leafId === null) {
    notify("There is nothing to copy yet.");
    return;
  }
  const copied = await host.fork(leafId, forkChoice(host, leafId), "at");
  if (copied) notify("This is a copy; the session before stays as it is.");
  else notify("An extension did not let the session be copied.", "warning");
}

export const labelCommand: SlashCommand = {
  name: "label",
  description: "Label the latest message, to find it in the tree; without a text, asks for it",
  argumentHint: "[text]",
  run: labelLatest,
};

async function labelLatest(text: string, context: InteractiveContext): Promise<void> {
  const { session } = context.host.agent;
  const id = latestWork(session);
  if (id === undefined) {
    context.notify("There is no message to label yet.");
    return;
  }
  const present = session.label(id);
  const given = text === "" ? await labelEntry(context, { id, present }) : writeLabel(context, id, text);
  if (given === undefined) return;
  const message =
    given === "" ? "The latest message has no label now." : `The latest message is labelled [${given}].`;
  context.notify(message);
}

/** The nearest entry above the leaf that is more than a note about others. */
function latestWork(session: Session): string | undefined {
  return session.path().findLast(isWork)?.id;
}

export const resumeCommand: SlashCommand = {
  name: "resume",
  description: "Open another session: search, name and delete them",
  argumentHint: "[id or file]",
  async run(args, context) {
    const file = args === "" ? await chosenFile(context) : args;
    if (file === undefined) return;
    const { host } = context;
    if (file === host.agent.session.file) {
      context.notify("This is the session that is open.");
      return;
    }
    if (!(await host.replace("resume", namedChoice(host, file)))) context.notify("The session was not left.");
  },
};

async function chosenFile({ host, screen }: InteractiveContext): Promise<string | undefined> {
  const { home, cwd, call } = host.workshop;
  const session = await pickSession({
    screen,
    home,
    cwd,
    now: () => call.io.now(),
    inUse: host.agent.session.file,
    nameInUse: (name) => host.setName(name),
  });
  return session?.file;
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
  description: "Write the session as Markdown",
  argumentHint: "[file]",
  worksWhileBusy: true,
  async run(args, { host, notify }) {
    const { session } = host.agent;
    const { cwd } = host.workshop;
    const file = absolutePath(args === "" ? `bonsai-${session.id.slice(0, 8)}.md` : args, cwd);
    // With it comes a parser of Markdown, which no start needs.
    const { exportMarkdown } = await import("@bonsai-agent/transcripts");
    const text = exportMarkdown(session);
    writeOutput(file, text);
    const size = bytes(Buffer.byteLength(text));
    notify(`Written to ${shownPath(file, cwd)}, ${size}`);
  },
};
