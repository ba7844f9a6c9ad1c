// @modelcontextprotocol/sdk 1.x: the handshake era only, and always the newest revision of it.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { run, watchedFetch, wish } from "./flow.mjs";

const asked = wish();
const statuses = [];
const client = new Client({ name: "flows", version: "1" });
const transport = new StreamableHTTPClientTransport(new URL(asked.url), {
  requestInit: { headers: { Authorization: `Bearer ${asked.key}` } },
  fetch: watchedFetch(statuses),
});

await run({
  client,
  transport,
  asked,
  statuses,
  call: (name, args) => client.callTool({ name, arguments: args }),
  facts: () => ({
    protocolVersion: transport.protocolVersion,
    serverInfo: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
  }),
});
