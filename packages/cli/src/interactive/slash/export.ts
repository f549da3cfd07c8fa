import { absolutePath } from "../../absolute-path.ts";
import { writeOutput } from "../../output-file.ts";
import { shownPath } from "../../shown-path.ts";
import { bytes } from "../../views/numbers.ts";
import type { SlashCommand } from "./slash-command.ts";

export const exportSession: SlashCommand = {
  name: "export",
  description: "Write the session as Markdown",
  argumentHint: "[file]",
  worksWhileBusy: true,
  async run(args, { host, tell }) {
    const { session } = host.agent;
    const { cwd } = host.workshop;
    const file = absolutePath(args === "" ? `bonsai-${session.id.slice(0, 8)}.md` : args, cwd);
    // With it comes a parser of Markdown, which no start needs.
    const { exportMarkdown } = await import("@bonsai-agent/transcripts");
    const text = exportMarkdown(session);
    writeOutput(file, text);
    const size = bytes(Buffer.byteLength(text));
    tell({ level: "info", message: `Written to ${shownPath(file, cwd)}, ${size}` });
  },
};
