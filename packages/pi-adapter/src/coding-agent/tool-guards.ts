interface ToolEvent {
  toolName: string;
}

/** True for calls of this tool. */
export function isToolCallEventType(toolName: string, event: ToolEvent): boolean {
  return event.toolName === toolName;
}

const isResultOf =
  (toolName: string) =>
  (event: ToolEvent): boolean =>
    event.toolName === toolName;

export const isBashToolResult = isResultOf("bash");
export const isPowerShellToolResult = isResultOf("powershell");
export const isReadToolResult = isResultOf("read");
export const isEditToolResult = isResultOf("edit");
export const isWriteToolResult = isResultOf("write");
export const isGrepToolResult = isResultOf("grep");
export const isFindToolResult = isResultOf("find");
export const isLsToolResult = isResultOf("ls");
