import type { BranchSummaryEntry, ExtensionAPI, ExtensionContext } from "@bonsai-agent/extension";

/** Branch summaries as a log of decisions: what was tried on the branch, what came of it, what was decided. */
export default function branchNotes(bonsai: ExtensionAPI): void {
  bonsai.on("session_before_tree", ({ preparation }) => {
    const { customInstructions: focus, replaceInstructions, userWantsSummary } = preparation;
    // Whoever brings instructions of their own means them.
    if (!userWantsSummary || replaceInstructions) return undefined;
    const wish = focus === undefined ? "" : `\n\nDwell on this: ${focus}`;
    return { customInstructions: `${instructions}${wish}`, replaceInstructions: true };
  });

  bonsai.registerCommand("decisions", {
    description: "Show the notes of the branches that were left; with words, those that have them all",
    handler: (args, ctx) => ctx.ui.notify(log(ctx, words(args))),
  });
}

const instructions = `Write a note for a log of decisions about the branch of work above, which is being left. Be brief and exact; name files, functions and error messages as they stand there. Say only what the branch shows. Use these headings:

## Question
What the branch set out to find or to do, in one or two sentences.

## Tried
Each attempt in a line: what was done, and what came of it.

## Decision
What was decided and why; or that nothing was decided.

## Not again
What has been shown not to work, so that nobody tries it a second time. "Nothing" if there is nothing.

## Open
What is left to do or to find out.`;

function log({ sessionManager }: ExtensionContext, wanted: readonly string[]): string {
  const all = sessionManager.getEntries().filter((entry) => entry.type === "branch_summary");
  if (all.length === 0) return "No branch was left with a note yet. /tree takes one along.";
  const found = all.filter((entry) => {
    const text = note(entry).toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  if (found.length === 0) return `None of ${all.length} notes has all of: ${wanted.join(" ")}`;
  return found
    .map((entry) => `${heading(entry, sessionManager.getLabel(entry.id))}\n\n${note(entry)}`)
    .join("\n\n");
}

function heading({ timestamp, fromId, isMerge }: BranchSummaryEntry, label: string | undefined): string {
  const name = label === undefined ? "" : `${label}, `;
  const branch = isMerge ? "merged branch" : "branch";
  const end = fromId === "" ? "" : ` that ended at ${fromId}`;
  return `# ${name}${timestamp.slice(0, 16).replace("T", " ")}, ${branch}${end}`;
}

/** As it was written, without what stands around it for the model. */
function note({ summary, details }: BranchSummaryEntry): string {
  const { prose } = (details ?? {}) as { prose?: unknown };
  return (typeof prose === "string" ? prose : summary).trim();
}

function words(text: string): string[] {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}
