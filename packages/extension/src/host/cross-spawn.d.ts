/** The used part of a library without types. */
declare module "cross-spawn" {
  const crossSpawn: {
    _parse(
      command: string,
      args: string[],
      options: { cwd: string; env: Record<string, string | undefined> },
    ): { command: string; args: string[]; options: { windowsVerbatimArguments?: boolean } };
  };
  export default crossSpawn;
}
