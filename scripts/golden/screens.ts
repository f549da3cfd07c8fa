/** One screen of the interactive mode: what is typed, and what is pressed, before it is looked at. */
export interface GoldenScreen {
  name: string;
  /** Texts to type, and keys by their tmux names in angle brackets: "/tree<Enter>", "<Escape>". */
  steps: string[];
  columns?: number;
  /** The session to open. Default: a new one. */
  session?: string;
}

const slash = (command: string, more: string[] = []): GoldenScreen => ({
  name: command.slice(1).replaceAll(/\W+/g, "-"),
  steps: [`${command}<Enter>`, ...more],
  session: "workday.jsonl",
});

/** Forty screens: the first start, each panel, each command, a run, a compaction, a narrow terminal. */
export const goldenScreens: readonly GoldenScreen[] = [
  { name: "start", steps: [] },
  { name: "start-narrow", steps: [], columns: 50 },
  { name: "completion", steps: ["/"] },
  { name: "completion-narrowed", steps: ["/re"] },
  { name: "run", steps: ["go<Enter>"] },
  { name: "unknown-command", steps: ["/comapct<Enter>"] },
  { name: "bash", steps: ["!echo hello<Enter>"] },
  { name: "session-opened", steps: [], session: "workday.jsonl" },
  { name: "session-opened-narrow", steps: [], session: "workday.jsonl", columns: 50 },
  ...[
    "/help",
    "/tree",
    "/session",
    "/context",
    "/compact preview",
    "/undo",
    "/redo",
    "/recall",
    "/recall error",
  ].map((each) => slash(each)),
  ...[
    "/pin",
    "/pin Never push to main.",
    "/sources",
    "/settings",
    "/model",
    "/thinking",
    "/theme",
    "/login",
  ].map((each) => slash(each)),
  ...[
    "/logout",
    "/resume",
    "/fork",
    "/name",
    "/copy",
    "/export",
    "/trust",
    "/reload",
    "/label",
    "/merge",
  ].map((each) => slash(each)),
  slash("/compact", ["<Wait>"]),
  { ...slash("/tree", ["<Up>", "<Up>", "<Enter>"]), name: "tree-menu" },
  { ...slash("/tree", ["smoke"]), name: "tree-search" },
  { ...slash("/compact prices", ["<Wait>", "/undo<Enter>"]), name: "compact-undo" },
];
