@profile:nvml @component:nvml @needs:fake-nvml
Feature: The simulated nvidia-imex
  Daemons of ComputeDomains start nvidia-imex, and query its state with nvidia-imex-ctl. Without NVLink between nodes a
  simulation takes their place: its addresses, connections and signals are real.

  @NVML-091
  Scenario: Daemons connect by the names of their nodes file, and notice lost peers
    Given 3 nodes with this configuration of the simulated nvidia-imex
      """
      # SERVER_PORT=1
        # IMEX_WAIT_FOR_QUORUM=FULL
      IMEX_CMD_BIND_INTERFACE_IP = <address>
      IMEX_NODE_CONFIG_FILE=<folder>/nodes
      IMEX_CMD_PORT=
      a line without a value
      """
    And the nodes file of the simulated nvidia-imex is
      """
      # all nodes
      node-1
        node-2  # the second
      node-3

      """
    And the hosts file of the simulated nvidia-imex is
      """
      127.0.0.1 localhost
      """
    When the simulated nvidia-imex of nodes 1, 2 starts
    Then the simulated nvidia-imex-ctl of node 1 comes to print for -N
      """
      node-1 unknown
      node-2 unknown
      node-3 unknown
      """
    When the hosts file of the simulated nvidia-imex becomes
      """
      <address 1> node-1
      <address 2> node-2
      <address 3> node-3
      """
    Then the simulated nvidia-imex-ctl of node 1 comes to print for -N
      """
      node-1 self
      node-2 connected
      node-3 connecting
      """
    And the simulated nvidia-imex-ctl of node 2 comes to print for -N
      """
      node-1 connected
      node-2 self
      node-3 connecting
      """
    And the simulated nvidia-imex of node 1 has resolved its names again 1 times
    And the simulated nvidia-imex of node 1 comes to have these addresses
      | name   | address     |
      | node-1 | <address 1> |
      | node-2 | <address 2> |
      | node-3 | <address 3> |
    When the simulated nvidia-imex of nodes 3 starts
    Then the simulated nvidia-imex-ctl of node 2 comes to print for -N
      """
      node-1 connected
      node-2 self
      node-3 connected
      """
    And the simulated nvidia-imex of node 2 ends in order on SIGTERM
    And the simulated nvidia-imex-ctl of node 1 comes to print for -N
      """
      node-1 self
      node-2 lost
      node-3 connected
      """
    When the simulated nvidia-imex of nodes 2 starts
    Then the simulated nvidia-imex-ctl of node 1 comes to print for -N
      """
      node-1 self
      node-2 connected
      node-3 connected
      """
    And the simulated nvidia-imex of node 2 has resolved its names again 0 times
    When the hosts file of the simulated nvidia-imex becomes
      """
      <address 1> node-1
      <address 3> node-2
      """
    Then the simulated nvidia-imex-ctl of node 1 comes to print for -N
      """
      node-1 self
      node-2 connected
      node-3 unknown
      """
    And the simulated nvidia-imex of node 1 has resolved its names again 2 times
    And the simulated nvidia-imex of node 1 comes to have these addresses
      | name   | address     |
      | node-1 | <address 1> |
      | node-2 | <address 3> |
    And the simulated nvidia-imex of node 1 ends in order on SIGTERM
    And the simulated nvidia-imex of node 3 ends in order on SIGTERM

  @NVML-091
  Scenario Outline: With the quorum <quorum> a daemon without its peer is <alone>
    Given 2 nodes with this configuration of the simulated nvidia-imex
      """
      BIND_INTERFACE_IP=<address>
      IMEX_CMD_BIND_INTERFACE_IP=192.0.2.1
      SERVER_PORT=50211
      IMEX_CMD_PORT=50212
      IMEX_NODE_CONFIG_FILE=<folder>/nodes
      IMEX_WAIT_FOR_QUORUM=<quorum>
      """
    And the nodes file of the simulated nvidia-imex is
      """
      <address 1>
      <address 2>
      """
    And the hosts file of the simulated nvidia-imex is
      """
      # no names: the nodes file has addresses
      """
    When the simulated nvidia-imex of nodes 1 starts
    Then the simulated nvidia-imex-ctl of node 1 comes to print for -q
      """
      <alone>
      """
    When the simulated nvidia-imex of nodes 2 starts
    Then the simulated nvidia-imex-ctl of node 1 comes to print for -N
      """
      <address 1> self
      <address 2> connected
      """
    And the simulated nvidia-imex-ctl of node 1 comes to print for -q
      """
      READY
      """
    And the simulated nvidia-imex of node 2 ends in order on SIGTERM
    And the simulated nvidia-imex-ctl of node 1 comes to print for -N
      """
      <address 1> self
      <address 2> lost
      """
    And the simulated nvidia-imex-ctl of node 1 comes to print for -q
      """
      <alone>
      """

    Examples:
      | quorum   | alone     |
      | FULL     | NOT_READY |
      | NONE     | READY     |
      | RECOVERY | READY     |

  @NVML-091
  Scenario: Wrong calls and configurations are errors, and a second daemon of one address ends
    Given 2 nodes with this configuration of the simulated nvidia-imex
      """
      IMEX_CMD_BIND_INTERFACE_IP=<address 1>
      IMEX_NODE_CONFIG_FILE=<folder>/nodes
      """
    And the nodes file of the simulated nvidia-imex is
      """
      node-1
      """
    And the hosts file of the simulated nvidia-imex is
      """
      10.0.0.1  one uno # the first
      ::1       six
      10.0.0.2  two one
      1.2.3     short

      #10.0.0.3 three
      10.0.0.4
      """
    Then the simulated nvidia-imex resolves these names
      | name       | address   |
      | one        | 10.0.0.1  |
      | uno        | 10.0.0.1  |
      | two        | 10.0.0.2  |
      | six        | none      |
      | short      | none      |
      | three      | none      |
      | 10.0.0.9   | 10.0.0.9  |
      | 10.0.0.9.1 | none      |
      | localhost  | none      |
    And the simulated nvidia-imex reads these settings of its configuration
      | configuration                                                       | address   | server port | control port | nodes file                        | quorum   |
      |                                                                     |           | 50000       | 50005        | /etc/nvidia-imex/nodes_config.cfg | RECOVERY |
      | BIND_INTERFACE_IP=192.0.2.7\nIMEX_CMD_BIND_INTERFACE_IP=192.0.2.8   | 192.0.2.7 | 50000       | 50005        | /etc/nvidia-imex/nodes_config.cfg | RECOVERY |
      | IMEX_CMD_BIND_INTERFACE_IP= 192.0.2.8 \n #SERVER_PORT=7\nIMEX_CMD_PORT=9 | 192.0.2.8 | 50000  | 9            | /etc/nvidia-imex/nodes_config.cfg | RECOVERY |
      | SERVER_PORT = 7\nIMEX_NODE_CONFIG_FILE=/a=b\nIMEX_WAIT_FOR_QUORUM=FULL |        | 7           | 50005        | /a=b                              | FULL     |
    And these calls of the simulated nvidia-imex end as the table shows
      | words                             | exit code | output           |
      |                                   | 2         | usage:           |
      | status                            | 2         | usage:           |
      | control -x                        | 2         | usage:           |
      | control -q more                   | 2         | usage:           |
      | control -c                        | 2         | usage:           |
      | daemon -c <folder>/missing        | 1         | <folder>/missing |
      | control -c <folder>/missing -q    | 1         | <folder>/missing |
      | control -c <folder>/config-1 -q   | 1         | no daemon        |
    When the simulated nvidia-imex of nodes 1 starts
    Then these calls of the simulated nvidia-imex end as the table shows
      | words                           | exit code | output |
      | control -c <folder>/config-1 -q | 0         | READY  |
      | control -q -c <folder>/config-1 | 0         | READY  |
      | control -c <folder>/config-1    | 0         | READY  |
    When the simulated nvidia-imex of nodes 2 starts
    Then the simulated nvidia-imex of node 2 has ended with exit code 1
    And the simulated nvidia-imex-ctl of node 1 comes to print for -q
      """
      READY
      """
    And the simulated nvidia-imex of node 1 ends in order on SIGTERM
    And another program on the control port of node 1 is no simulated nvidia-imex
      | answer                                    | query    | nvidia-imex-ctl        |
      | READY\n{"simulated": true, "nodes": {}}   | a state  | READY                  |
      | NOT_READY\n{"simulated": true, "nodes": {}} | a state | NOT_READY             |
      | READY\n{"simulated": false, "nodes": {}}  | an error | READY                  |
      | READY\n{"simulated": true, "nodes": []}   | an error | READY                  |
      | READY\n[]                                 | an error | READY                  |
      | READY\n<deep>                             | an error | READY                  |
      | READY                                     | an error | nothing, exit code 1   |
      |                                           | an error | nothing, exit code 1   |
      | READY \n{"simulated": true, "nodes": {}}  | an error | nothing, exit code 1   |
