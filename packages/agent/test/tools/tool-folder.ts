import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type BuiltinToolsOptions, builtinTools } from "../../src/tools/builtin-tools.ts";
import { fitArguments } from "../../src/tools/fit-arguments.ts";
import { readParameters, type ToolResult } from "../../src/tools/tool-registry.ts";

/** Options of a call beside its input. */
export interface RunOptions {
  signal?: AbortSignal;
  onUpdate?: (text: string) => void;
}

/** A project in a temporary folder, with the tools at work in it. */
export interface ToolFolder extends Disposable {
  path: string;
  write(name: string, content: string | Buffer): string;
  text(name: string): string;
  run(tool: string, input: Record<string, unknown>, options?: RunOptions): Promise<ToolResult>;
}

export function toolFolder(options: Partial<BuiltinToolsOptions> = {}): ToolFolder {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "bonsai-tools-")));
  const path = join(base, "project");
  mkdirSync(path);
  const tools = builtinTools({ cwd: path, paths: { allow: [] }, bash: { timeoutSeconds: 60 }, ...options });
  return {
    path,
    write(name, content) {
      const file = join(path, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    },
    text: (name) => readFileSync(join(path, name), "utf8"),
    async run(name, input, { signal = new AbortController().signal, onUpdate = () => {} } = {}) {
      const tool = tools.find((one) => one.name === name)!;
      const { schema, json } = readParameters(tool);
      const parsed = schema.parse(fitArguments(input, json));
      return tool.execute({
        toolCallId: "1",
        input: parsed,
        signal,
        onUpdate: (part) => onUpdate(textOf(part)),
      });
    },
    [Symbol.dispose]: () => rmSync(base, { recursive: true, force: true }),
  };
}

/** All text of a result. */
export function textOf({ content }: ToolResult): string {
  return content.map((block) => (block.type === "text" ? block.text : `<${block.mimeType}>`)).join("\n");
}
