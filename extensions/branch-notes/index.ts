import type { ExtensionAPI } from "@bonsai-agent/extension";

/** Branch summaries as a log of decisions: what was tried on the branch, what came of it, what was decided. */
export default function branchNotes(bonsai: ExtensionAPI): void {
  bonsai.on("session_before_tree", ({ preparation }) => {
    const { customInstructions: focus, userWantsSummary } = preparation;
    if (!userWantsSummary) return undefined;
    const wish = focus === undefined ? "" : `\n\nDwell on this: ${focus}`;
    return { customInstructions: `${instructions}${wish}`, replaceInstructions: true };
  });

  bonsai.registerCommand("decisions", {
    description: "Show the notes of all branches that were left",
    handler: (_args, ctx) => {
      const notes = ctx.sessionManager.getEntries().filter((entry) => entry.type === "branch_summary");
      const texts = notes.map(({ summary, timestamp }) => `${timestamp.slice(0, 16)}\n${summary}`);
      ctx.ui.notify(texts.length === 0 ? "No branch was left with a summary yet." : texts.join("\n\n"));
    },
  });
}

const instructions = `Write a note for a log of decisions about the branch of work above, which is being left. Be brief and exact; name files, functions and error messages as they stand there. Use these headings:

## Question
What the branch set out to find or do, in one or two sentences.

## Tried
Each attempt in a line: what was done, and what came of it.

## Decision
What was decided and why; or that nothing was decided.

## Not again
What has been shown not to work, so that nobody tries it a second time. "Nothing" if there is nothing.

## Open
What is left to do or to find out.`;
