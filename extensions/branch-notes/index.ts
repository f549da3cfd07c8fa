import type { BranchSummaryEntry, ExtensionAPI, ExtensionContext } from "@bonsai-agent/extension";

/** Branch summaries as a log of decisions: what was tried on the branch, what came of it, what was decided. */
export default function branchNotes(bonsai: ExtensionAPI): void {
  bonsai.on("session_before_tree", ({ preparation }) => {
    const { customInstructions: focus, replaceInstructions, userWantsSummary } = preparation;
    // The user's own instructions come first.
    if (!userWantsSummary || replaceInstructions) return undefined;
    const wish = focus === undefined ? "" : `\n\nFocus on this: ${focus}`;
    return { customInstructions: `${instructions}${wish}`, replaceInstructions: true };
  });

  bonsai.registerCommand("decisions", {
    description: "Show the notes on branches that you left. WORDS: show only notes with all these words.",
    handler: (args, ctx) => ctx.ui.notify(log(ctx, words(args))),
  });
}

const instructions = `Write an entry for a decision log about the branch of work above. The user is leaving this branch. Be brief and exact. Copy file names, function names and error messages literally. State only facts from the branch. Use these headings:

## Question
The goal of the branch, in one or two sentences.

## Tried
One line for each attempt: the action and its result.

## Decision
The decision and its reason, or a note that nothing was decided.

## Do not repeat
Approaches that failed, so that nobody repeats them. Write "Nothing" if there are none.

## Open
Remaining work and open questions.`;

function log({ sessionManager }: ExtensionContext, wanted: readonly string[]): string {
  const all = sessionManager.getEntries().filter((entry) => entry.type === "branch_summary");
  if (all.length === 0) return "No notes yet. To write one, leave a branch with /tree and choose a summary.";
  const found = all.filter((entry) => {
    const text = note(entry).toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  if (found.length === 0)
    return `No note contains all these words: ${wanted.join(" ")} (searched ${all.length}).`;
  return found
    .map((entry) => `${heading(entry, sessionManager.getLabel(entry.id))}\n\n${note(entry)}`)
    .join("\n\n");
}

function heading({ timestamp, fromId, isMerge }: BranchSummaryEntry, label: string | undefined): string {
  const name = label === undefined ? "" : `${label}, `;
  const branch = isMerge ? "merged branch" : "branch";
  const end = fromId === "" ? "" : ` ending at ${fromId}`;
  return `# ${name}${timestamp.slice(0, 16).replace("T", " ")}, ${branch}${end}`;
}

/** The text without its frame for the model. */
function note({ summary, details }: BranchSummaryEntry): string {
  const { prose } = (details ?? {}) as { prose?: unknown };
  return (typeof prose === "string" ? prose : summary).trim();
}

function words(text: string): string[] {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}
