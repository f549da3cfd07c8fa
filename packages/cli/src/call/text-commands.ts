import { findRecalled, type NavigateOptions } from "@bonsai-agent/agent";
import { redoLatestUndo, undoLatestCompaction } from "@bonsai-agent/compaction";
import { SearchThread } from "@bonsai-agent/session/search";
import { compactView } from "../views/compact-view.ts";
import { compactionNotice, skippedNotice } from "../views/compaction-notice.ts";
import { contextReport } from "../views/context-report.ts";
import { contextReportView } from "../views/context-view.ts";
import { type Line, renderLine } from "../views/line.ts";
import { counted } from "../views/numbers.ts";
import { recallHitText } from "../views/recall-hit.ts";
import { oneLine } from "../views/terminal-text.ts";
import { treeView } from "../views/tree-view.ts";
import type { AgentHost } from "./agent-host.ts";
import { changeCompaction, parseCompactArgs, passedThreshold, planManualCompaction } from "./compactions.ts";
import { wrongUsage } from "./failure.ts";
import { resolveEntryId } from "./session-file.ts";

/** Columns of the texts. */
export const TEXT_COLUMNS = 90;

interface CommandCall {
  host: AgentHost;
  /** The words after the name. */
  args: string;
  signal: AbortSignal;
  /** The number of compactions that the user has seen. */
  shownCompactions: () => number;
}

interface TextCommand {
  description: string;
  hint?: string;
  /** Returns the text for the user; undefined if the updates have shown all. */
  run(call: CommandCall): Promise<string | undefined>;
}

/** Slash commands of a front end without a screen: each answers with a text. */
export const textCommands: Readonly<Record<string, TextCommand>> = {
  compact: {
    description: "Compact now. A focus names the topics to emphasise; preview shows the plan",
    hint: "[focus|preview]",
    run: compact,
  },
  undo: {
    description: "Undo the latest compaction",
    async run({ host }) {
      const { message, tokensAfter } = await changeCompaction(host, undoLatestCompaction, "Undid");
      const limit = passedThreshold(host, tokensAfter);
      if (limit === undefined) return message;
      return `${message} The context is above ${counted(limit, "token")}: the next prompt compacts again.`;
    },
  },
  redo: {
    description: "Redo the latest undone compaction",
    run: async ({ host }) => (await changeCompaction(host, redoLatestUndo, "Redid")).message,
  },
  context: {
    description: "Show what fills the context",
    async run({ host: { agent, app } }) {
      const report = contextReport({
        session: agent.session,
        overhead: { systemPrompt: agent.systemPrompt, tools: agent.tools.declarations() },
        settings: app.settings.compaction,
        model: agent.model,
        nowMs: app.call.io.now(),
      });
      return blockOf(contextReportView(report, TEXT_COLUMNS));
    },
  },
  recall: {
    description: "Search the entries that the model no longer sees",
    hint: "text",
    run: recall,
  },
  tree: {
    description:
      "List branch points with their ids, or go to an entry. Add summary to summarise the branch that you leave",
    hint: "[id [summary|no]]",
    run: tree,
  },
  merge: {
    description: "Summarise another branch into this one",
    hint: "id [focus]",
    async run({ host: { agent }, args, signal }) {
      const [, id = "", focus = ""] = /^(\S*)\s*([\s\S]*)$/.exec(args) ?? [];
      const branchId = resolveEntryId(agent.session, id);
      return (await agent.merge(branchId, { signal, ...(focus !== "" && { focus }) })).detail;
    },
  },
};

/** A command that a prompt can call with a slash and its name. */
interface NamedCommand {
  name: string;
  description: string;
  hint?: string | undefined;
}

/** All commands, with those of extensions, templates and skills. */
export async function slashCommands({ app }: AgentHost): Promise<NamedCommand[]> {
  const own = Object.entries(textCommands).map(([name, { description, hint }]) => ({
    name,
    description,
    hint,
  }));
  const ofExtensions = app.extensions.now.commands;
  return [
    ...own,
    ...ofExtensions.map(({ name, description = "" }) => ({ name, description })),
    ...(await app.resources.commands()).map(({ argumentHint: hint, ...each }) => ({ ...each, hint })),
  ];
}

async function compact({ host, args, shownCompactions }: CommandCall): Promise<string | undefined> {
  const { agent } = host;
  const { isPreview, ...asked } = parseCompactArgs(args);
  if (isPreview) {
    const result = planManualCompaction(host, asked, agent.model);
    if (result.status !== "planned") return skippedNotice(result).message;
    const model = asked.useDigest ? undefined : agent.model;
    const before = agent.session.projection().items;
    return blockOf(compactView({ result, before, model, width: TEXT_COLUMNS }));
  }
  const shown = shownCompactions();
  const outcome = await agent.compact(asked);
  return shownCompactions() > shown ? undefined : (compactionNotice({ outcome })?.message ?? outcome.detail);
}

const MAX_HITS = 10;

async function recall({ host: { agent, app }, args, signal }: CommandCall): Promise<string> {
  if (args === "") throw wrongUsage("/recall needs a text to search for.", "Write /recall TEXT.");
  const search = new SearchThread({
    ...{ home: app.home, index: app.settings.index.enabled },
    onNotice: (notice) => app.onNotice({ level: "warning", ...notice }),
  });
  try {
    const { hits, more } = await findRecalled({
      ...{ session: agent.session, search, query: args, signal },
      ...{ branches: true, sessions: false, limit: MAX_HITS },
    });
    if (hits.length === 0) return "No hidden entry matches.";
    const lines = hits.map((hit) => `- ${recallHitText(hit)}`);
    return [...lines, ...(more ? ["", "More results exist. Add words to narrow the search."] : [])].join(
      "\n",
    );
  } finally {
    search.close();
  }
}

async function tree({ host: { agent }, args, signal }: CommandCall): Promise<string> {
  const { session } = agent;
  const [id = "", choice = "no", ...rest] = args.split(/\s+/).filter(Boolean);
  if (id === "" || id === "--all") {
    const { leafId } = session;
    const whole = session.tree({ isParsed: true });
    return blockOf(treeView({ tree: whole, leafId, width: TEXT_COLUMNS, all: id === "--all" }));
  }
  if (!["summary", "no"].includes(choice) || rest.length > 0)
    throw wrongUsage(
      `/tree cannot read ${JSON.stringify(args)}.`,
      "Write /tree, /tree ID, or /tree ID summary.",
    );
  const options: NavigateOptions = { summarise: choice === "summary", signal };
  const { status, editorText } = await agent.navigate(resolveEntryId(session, id), options);
  const text = editorText ? ` Your text there: ${oneLine(editorText)}` : "";
  return `${moves[status]}${text}`;
}

const moves = {
  moved: "Moved. The next prompt continues from there.",
  unchanged: "You are already there.",
  cancelled: "Cancelled. Your position is unchanged.",
};

function blockOf(lines: Iterable<Line>): string {
  return ["```", ...Array.from(lines, (line) => renderLine(line, false)), "```"].join("\n");
}
