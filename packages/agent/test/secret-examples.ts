export const secrets = [
  "sk-ant-REDACTED",
  "ghp_REDACTED",
  "AKIAIOSFODNN7EXAMPLE",
  "wJalrXUtnFEMI/K7MDENG/bPxRfiCY1EXAMPLEKEY2",
  "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
  "9f86d081884c7d659a2feaa0c55ad015",
  `pplx-${"abcdefghij"}`,
  `nvapi-${"abcdefghij"}`,
  `fw_${"a1b2c3d4e5".repeat(3)}`,
  `https://hooks.slack.com/services/${"TABCDEFGH/BABCDEFGH"}/abcdefgh`,
];
