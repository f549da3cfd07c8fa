import type { ScenarioAnswer } from "@bonsai-agent/models/scripted";

/** One act of the demo: the user's prompt and the scripted answers. */
export interface Act {
  title: string;
  /** Explains the act to the audience. */
  note: string;
  /** Goes back to the end of this act first, with a summary of the abandoned branch. */
  backTo?: number;
  user: string;
  answers: readonly ScenarioAnswer[];
  /** The model's summary of the early part of this act's turn. */
  earlyPart?: string;
}

const bash = (command: string) => ({ name: "bash", arguments: { command } });
const read = (path: string) => ({ name: "read", arguments: { path } });

/** The model's answers. Everything else in the demo really happens. */
export const acts: readonly Act[] = [
  {
    title: "The tests fail",
    note: "The catalogue lists a window of 32,000 tokens. The server really has 16,500.",
    user: "The tests fail. Find out why and fix it. Never change anything in test/, and keep all amounts in whole cents.",
    answers: [
      { text: "I run the tests first.", calls: [bash("node --test")] },
      {
        text: "The result has a fraction of a cent. What do the rules say?",
        calls: [read("docs/pricing.md"), read("src/price.mjs")],
      },
      { text: "Rounded half up. When did it break?", calls: [read("logs/build.log")] },
      {
        text: "The discount is never rounded. I fix that in total().",
        calls: [
          {
            name: "edit",
            arguments: {
              path: "src/price.mjs",
              oldText: "  return sum - sum * discountPercent / 100;",
              newText: "  return sum - Math.round(sum * discountPercent / 100);",
            },
          },
        ],
      },
      { calls: [bash("node --test")] },
      {
        text: "All four tests pass. `total()` in src/price.mjs now rounds the discount to whole cents; test/ is unchanged.",
      },
    ],
    earlyPart: `## Request
Find out why the tests fail and fix it; nothing in test/ may change, all amounts stay whole cents.

## Done So Far
- Ran \`node --test\`: "a discount leaves whole cents" fails, expected 300, received 299.7
- docs/pricing.md: discounts are rounded half up to whole cents, before the tax
- src/price.mjs: total() subtracts the discount without rounding it

## Needed to Continue
- The line to fix is in total(); logs/build.log shows when it broke`,
  },
  {
    title: "A small task",
    note: "An ordinary turn. The context is small again.",
    user: "Good. Put one line about it into CHANGES.md.",
    answers: [
      {
        calls: [
          {
            name: "write",
            arguments: {
              path: "CHANGES.md",
              content: "- Discounts are rounded to whole cents before they are taken off.\n",
            },
          },
        ],
      },
      { text: "CHANGES.md has one line: discounts are rounded to whole cents." },
    ],
  },
  {
    title: "A week of logs",
    note: "Long tool results fill the window during a task. Old results are masked.",
    user: "Customers say that discount codes are refused. Read logs/monday.log to logs/friday.log, find out which codes fail and why, and write it to FINDINGS.md.",
    answers: [
      { text: "Day by day.", calls: [read("logs/monday.log")] },
      { text: "Lower case and a trailing blank are refused on Monday.", calls: [read("logs/tuesday.log")] },
      {
        text: "The same on Tuesday. The rest of the week together.",
        calls: [read("logs/wednesday.log"), read("logs/thursday.log"), read("logs/friday.log")],
      },
      {
        calls: [
          {
            name: "write",
            arguments: {
              path: "FINDINGS.md",
              content:
                '# Refused codes\n\n- "spring", "Welcome": codes are case-sensitive.\n- "friend5 ": trailing blanks are not removed.\n- "SUMMER": there is no such code.\n',
            },
          },
        ],
      },
      { calls: [bash("grep -c refused logs/*.log")] },
      { text: "FINDINGS.md has the reasons: case and blanks count, and SUMMER does not exist." },
    ],
  },
  {
    title: "Another way",
    note: "Go back to the point before the logs and keep a summary of the abandoned branch. Nothing is lost.",
    backTo: 2,
    user: "Let us fix it instead of reporting it: discountOf() should accept any case and surrounding blanks. Amounts stay whole cents.",
    answers: [
      {
        text: "The findings of the other branch show which codes to accept.",
        calls: [read("src/codes.mjs")],
      },
      {
        calls: [
          {
            name: "edit",
            arguments: {
              path: "src/codes.mjs",
              oldText: "  return discounts[code];",
              newText: "  return discounts[code.trim().toUpperCase()];",
            },
          },
          bash("node --test"),
        ],
      },
      { text: "discountOf() trims and ignores case; the tests pass." },
    ],
  },
];

/** The model's other summaries, by kind. */
export const summaries: Readonly<Record<"history" | "branch", string>> = {
  history: `## Goal
Keep the corner shop's prices right: failing tests fixed, refused discount codes explained.

## Constraints & Preferences
- Never change anything below test/
- All amounts are whole cents

## Progress
### Done
- [x] src/price.mjs: total() rounds the discount with Math.round
- [x] CHANGES.md has one line about it
### In Progress
- [ ] Reading the week's logs for refused codes
### Blocked
(none)

## Key Decisions
- **Round the discount, not the total**: docs/pricing.md asks for half up before the tax

## Next Steps
1. Finish the logs and write FINDINGS.md

## Critical Context
- Tests run with \`node --test\`; the failure was "expected 300, received 299.7"`,
  branch: `## Goal
Find out why customers' discount codes are refused.

## Constraints & Preferences
- Never change anything below test/
- All amounts are whole cents

## Progress
### Done
- [x] Read logs/monday.log to logs/friday.log
- [x] Wrote FINDINGS.md: refused are "spring" and "Welcome" (case), "friend5 " (blank), "SUMMER" (unknown)
### In Progress
(none)
### Blocked
(none)

## Key Decisions
- **Report only**: the user asked for findings there

## Next Steps
1. (none)`,
};
