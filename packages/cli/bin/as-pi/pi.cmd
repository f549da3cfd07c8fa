@echo off
if not defined BONSAI_NODE set "BONSAI_NODE=node"
"%BONSAI_NODE%" "%~dp0..\bonsai.js" %*
