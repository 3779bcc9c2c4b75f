package elector
import ("testing";"time";"fmt";"github.com/hustings/hustings/memberstate")
func TestSmoke(t *testing.T){
 for n:=1;n<=9;n+=2 { t.Run(fmt.Sprint(n), func(t *testing.T){
 var ids []string; for i:=range n {ids=append(ids,fmt.Sprintf("n%d",i))}
 s:=newStage(t, stageOptions{members: memberstate.Voters(ids...)})
 if n==3 {s.tell=func(f string,a ...any){t.Logf("%8.1fms %s", float64(s.now)/1e6, fmt.Sprintf(f,a...))}}
 l:=s.elect(); t.Log(s.now, l.id)
 s.run(time.Second)
 if n>2 { l.crash(); s.runUntil(time.Minute,"new", func() bool {return s.leader()!=nil && s.settled()}); t.Log(s.now); l.start(); s.run(time.Second); t.Log(s.String())}
 })}
}
