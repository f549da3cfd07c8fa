import { type OpenedInteractive, type OpenInteractiveOptions, openInteractive } from "./harness.ts";

export interface OpenedExtension extends OpenedInteractive {
  /** Types a command and sends it. */
  command(text: string): void;
}

/** Opens the interactive mode with an extension of which this is the body. @param options.head stands before it */
export async function withExtension(
  body: string,
  { head = "", ...options }: OpenInteractiveOptions & { head?: string } = {},
): Promise<OpenedExtension> {
  const files = { "drawn.mjs": `${head}\nexport default function (bonsai) {\n${body}\n}`, ...options.files };
  const opened = openInteractive({ ...options, files, argv: ["-e", "./drawn.mjs"] });
  const { terminal } = opened;
  await terminal.until("Type a task");
  const command = (text: string) => {
    terminal.type(text);
    terminal.press("enter");
  };
  return { ...opened, command };
}

/** A command `/show` that opens a component and says what came of it. */
export const shown = (component: string, options = "{}") => `
  bonsai.registerCommand("show", { async handler(_args, ctx) {
    const value = await ctx.ui.custom((tui, theme, keys, done) => (${component}), ${options});
    ctx.ui.notify("It gave " + String(value));
  } });`;
